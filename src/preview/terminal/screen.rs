//! The alternate screen of the terminal. It is left while another program uses the terminal, and restored at the end.

use std::io::{self, Stdout, Write as _};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Size;
use ratatui::{Frame, Terminal};

/// True while the program uses the screen.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

/// True while another program uses the terminal.
static IS_SUSPENDED: AtomicBool = AtomicBool::new(false);

/// The screen, which is restored when it is dropped.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    has_mouse: bool,
}

impl Screen {
    /// Enters the screen. A panic restores it before it prints its message.
    ///
    /// # Errors
    /// The terminal cannot be changed.
    pub(super) fn enter() -> io::Result<Self> {
        let former = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            former(info);
        }));
        let terminal = enter(false).inspect_err(|_| restore())?;
        Ok(Self { terminal, has_mouse: false })
    }

    /// Returns the size of the terminal.
    pub(super) fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    /// Draws the changes. Draws nothing if another thread has restored the terminal.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if IS_ENTERED.load(Ordering::SeqCst) {
            self.terminal.draw(draw)?;
        }
        Ok(())
    }

    /// Enables or disables the mouse.
    pub(super) fn set_mouse(&mut self, is_enabled: bool) -> io::Result<()> {
        self.has_mouse = is_enabled;
        if is_enabled {
            execute!(io::stdout(), EnableMouseCapture)
        } else {
            execute!(io::stdout(), DisableMouseCapture)
        }
    }

    /// Leaves the screen to another program while a function runs.
    pub(super) fn leave_for<T>(&mut self, run: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        IS_SUSPENDED.store(true, Ordering::SeqCst);
        let result = run();
        IS_SUSPENDED.store(false, Ordering::SeqCst);
        self.redraw()?;
        Ok(result)
    }

    /// Redraws the screen.
    pub(super) fn redraw(&mut self) -> io::Result<()> {
        // `Terminal::clear` would query the terminal for its cursor, and another thread may read the response as a key.
        self.terminal = enter(self.has_mouse)?;
        self.terminal.backend_mut().flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn enter(has_mouse: bool) -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    IS_ENTERED.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
    if has_mouse {
        execute!(io::stdout(), EnableMouseCapture)?;
    }
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
    let area = terminal.size()?.into();
    // Clears the screen.
    terminal.resize(area)?;
    Ok(terminal)
}

/// Returns true while an editor uses the terminal.
pub fn is_lent() -> bool {
    IS_SUSPENDED.load(Ordering::SeqCst)
}

/// Restores the terminal if the program uses the screen. Any thread may call it, even before a signal ends the program.
pub fn restore() {
    if IS_ENTERED.swap(false, Ordering::SeqCst) {
        // The terminal may have been closed.
        let _ =
            execute!(io::stdout(), DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}
