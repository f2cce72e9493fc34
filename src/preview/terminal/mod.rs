//! The preview in the terminal.
//!
//! [`run`] reads keys and events of the session from one channel, changes the `app::App` and draws it. It draws only
//! after an input. The thread that reads keys waits for a permit before each read, so that it does not consume input
//! that is meant for an editor.

mod app;
mod cache;
mod content;
mod cursor;
mod data;
mod details;
mod draw;
mod editor;
mod keys;
mod layout;
mod list;
mod location;
mod mouse;
mod prompt;
mod results;
mod screen;
#[cfg(test)]
mod tests;
mod text;

use std::env;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event;

use self::app::{Action, App, Input};
use self::editor::EditorTarget;
use self::screen::Screen;
pub use self::screen::{is_lent, restore};
use super::model::Event;
use super::session::Session;

/// A message to the loop.
enum Message {
    /// Keys and other inputs of the user.
    Terminal(io::Result<Vec<event::Event>>),
    /// An event of the session.
    Session(Event),
    /// There are no more events.
    End,
}

/// The settings of the terminal.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TerminalOptions {
    /// True to use colors.
    pub has_color: bool,
    /// Suspends the program, as Ctrl-Z does.
    pub suspend: fn(),
}

impl TerminalOptions {
    /// Creates settings.
    pub fn new(has_color: bool, suspend: fn()) -> Self {
        Self { has_color, suspend }
    }
}

/// Sends events of a session to the terminal. When it is dropped, the terminal interface ends.
pub struct EventSender(Sender<Message>);

impl EventSender {
    /// Sends an event.
    pub fn send(&self, event: Event) {
        // The terminal interface may have ended.
        let _ = self.0.send(Message::Session(event));
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        let _ = self.0.send(Message::End);
    }
}

/// Receives events for the terminal.
pub struct EventReceiver {
    messages: Receiver<Message>,
    sender: Sender<Message>,
}

/// Creates the channel for the events that the terminal displays.
pub fn event_channel() -> (EventSender, EventReceiver) {
    let (sender, messages) = channel();
    (EventSender(sender.clone()), EventReceiver { messages, sender })
}

/// Displays a session in the terminal until the user quits, or until the sender of events is dropped.
///
/// # Errors
/// The terminal cannot be read or written.
pub fn run(session: &Session, options: TerminalOptions, events: EventReceiver) -> io::Result<()> {
    let EventReceiver { messages, sender } = events;
    let mut screen = Screen::enter()?;
    let mut app = App::new(session, session.state(), screen.size()?);
    let (permits, permitted) = channel();
    let reader = thread::Builder::new().name("keys".into());
    reader.spawn(move || read_keys(&permitted, &sender))?;
    let mut may_read = true;
    loop {
        if std::mem::take(&mut may_read) && permits.send(()).is_err() {
            return Ok(());
        }
        app.size = screen.size()?;
        app.prepare();
        screen.draw(|frame| draw::draw(&app, frame, options.has_color))?;
        let Ok(first) = messages.recv() else { return Ok(()) };
        for message in [first].into_iter().chain(messages.try_iter()) {
            match message {
                Message::End => return Ok(()),
                Message::Session(event) => drop(app.handle(Input::Session(event))),
                Message::Terminal(inputs) => {
                    may_read = true;
                    if handle_all(&mut app, inputs?, &mut screen, options)? {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Handles inputs. Returns true if the user quits.
fn handle_all(
    app: &mut App<'_>,
    inputs: Vec<event::Event>,
    screen: &mut Screen,
    options: TerminalOptions,
) -> io::Result<bool> {
    for input in inputs {
        let action = app.handle(Input::Terminal(input));
        // The next input may depend on the data.
        app.prepare();
        match action {
            None => {}
            Some(Action::Quit) => return Ok(true),
            Some(Action::Redraw) => screen.redraw()?,
            Some(Action::Mouse(is_enabled)) => screen.set_mouse(is_enabled)?,
            Some(Action::Suspend) => screen.leave_for(options.suspend)?,
            Some(Action::Edit(target)) => {
                if let Err(problem) = screen.leave_for(|| edit(&target))? {
                    app.status = problem;
                }
            }
        }
    }
    Ok(false)
}

/// Runs the editor.
fn edit(target: &EditorTarget) -> Result<(), String> {
    let editor = editor::editor_of(|name| env::var(name).ok());
    match editor::command(&editor, target).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("The editor {editor} failed: {status}")),
        Err(error) => Err(format!("Cannot run the editor {editor}: {error}. Set VISUAL or EDITOR")),
    }
}

/// Reads the inputs of the user. For each permit, it reads all available inputs.
fn read_keys(permitted: &Receiver<()>, messages: &Sender<Message>) {
    while permitted.recv().is_ok() {
        let inputs = read_inputs();
        let is_last = inputs.is_err();
        if messages.send(Message::Terminal(inputs)).is_err() || is_last {
            return;
        }
    }
}

fn read_inputs() -> io::Result<Vec<event::Event>> {
    let mut inputs = vec![event::read()?];
    while event::poll(Duration::ZERO)? {
        inputs.push(event::read()?);
    }
    Ok(inputs)
}
