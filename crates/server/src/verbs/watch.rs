//! Watches: report the changes of a collection as a stream of events.

use std::collections::VecDeque;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use serde_json::{Value, json};
use smol_str::SmolStr;
use tokio::time::{Instant, Sleep, sleep_until};

use super::list::check_options;
use crate::accept::{Form, metadata_of_one};
use crate::faults::Effect;
use crate::request::{Request, Target};
use crate::resources::Resource;
use crate::selectors::Selectors;
use crate::state::{Shared, State, in_version};
use crate::status::{Failure, Result};
use crate::store::{Change, Events};
use crate::table::table_of_one;
use crate::typed;

/// The time after which a watch ends, unless the request sets another one.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The time between bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// The number of events that are read at once.
const BATCH: usize = 500;

/// A watch that a client reads.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Mutex<Shared>>,
    id: u64,
    resource: Arc<Resource>,
    collection: SmolStr,
    namespace: String,
    selectors: Selectors,
    has_bookmarks: bool,
    /// The tables, if the events contain tables.
    table: Option<Table>,
    /// True if events contain only the metadata of objects.
    is_metadata: bool,
    /// The revision up to which changes were read.
    revision: u64,
    /// Lines to send.
    lines: VecDeque<Bytes>,
    has_ended: bool,
    timer: Option<Pin<Box<Sleep>>>,
    /// The time after the first wait at which the watch ends.
    timeout: Duration,
    end_at: Option<Instant>,
    /// The number of remaining events after which a fault ends the watch.
    rest: Option<usize>,
}

/// The tables of a watch. Only the first one contains the definitions of the columns.
#[derive(Debug)]
struct Table {
    include: String,
    is_first: AtomicBool,
}

impl State {
    /// Starts the watch of a request.
    pub(crate) fn watch(
        &self,
        target: &Target,
        request: &Request,
        shared: &Arc<Mutex<Shared>>,
        id: u64,
    ) -> Result<Watch> {
        check_options(request)?;
        let version = request.parameter("resourceVersion");
        let revision = self.start_of_watch(version)?;
        let seconds = request.parameter("timeoutSeconds").parse().map_or(TIMEOUT, Duration::from_secs);
        let mut watch = Watch {
            shared: Arc::clone(shared),
            id,
            resource: Arc::clone(&target.resource),
            collection: target.resource.collection(),
            namespace: target.namespace.clone(),
            selectors: Selectors::of(request, target)?,
            has_bookmarks: request.is_set("allowWatchBookmarks"),
            table: (request.form() == Some(Form::Table)).then(|| Table {
                include: request.parameter("includeObject").into(),
                is_first: AtomicBool::new(true),
            }),
            is_metadata: matches!(request.form(), Some(Form::Metadata | Form::MetadataList)),
            revision: revision.min(self.store.revision()),
            lines: VecDeque::new(),
            has_ended: false,
            timer: None,
            timeout: if seconds.is_zero() { TIMEOUT } else { seconds },
            end_at: None,
            rest: match request.effect {
                Effect::EndWatch(events) => Some(events),
                _ => None,
            },
        };
        let with_initial = match request.parameter("sendInitialEvents") {
            "" => matches!(version, "" | "0"),
            _ => request.is_set("sendInitialEvents"),
        };
        if with_initial {
            watch.initial_events(self, request.is_set("sendInitialEvents"));
        }
        Ok(watch)
    }

    /// Returns the revision after which a watch starts.
    fn start_of_watch(&self, version: &str) -> Result<u64> {
        match version {
            "" | "0" => Ok(self.store.revision()),
            text => text.parse::<u64>().map_err(|_| {
                let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
                Failure::new(500, "", format!("resourceVersion: Invalid value: {text:?}: {why}"))
            }),
        }
    }
}

impl Watch {
    /// Sends the existing objects, then the bookmark `k8s.io/initial-events-end` if the client requested it.
    fn initial_events(&mut self, state: &State, with_end_bookmark: bool) {
        self.revision = state.store.revision();
        let objects: Vec<Arc<Value>> = state
            .store
            .list(&self.collection, &self.namespace, "")
            .map(|(_, object)| Arc::clone(object))
            .collect();
        for object in objects.iter().filter(|object| self.selectors.matches(object)) {
            let line = self.line("ADDED", object, state.settings.clock.seconds());
            self.lines.push_back(line);
        }
        if with_end_bookmark && self.has_bookmarks {
            let line = self.bookmark(state, true);
            self.lines.push_back(line);
        }
    }

    fn line(&self, kind: &str, object: &Value, now: i64) -> Bytes {
        let mut object = in_version(object, &self.resource.gvk);
        if self.is_metadata {
            object = metadata_of_one(&object);
        }
        let Some(Table { include, is_first }) = &self.table else { return event(kind, &object) };
        let mut table = table_of_one(&self.resource, object, include, now);
        if !is_first.swap(false, Ordering::Relaxed) {
            table["columnDefinitions"] = Value::Null;
        }
        event(kind, &table)
    }

    fn bookmark(&self, state: &State, ends_initial: bool) -> Bytes {
        let gvk = &self.resource.gvk;
        let mut object = json!({"apiVersion": gvk.api_version(), "kind": gvk.kind, "metadata": {}});
        if !self.resource.is_custom
            && let Ok(decoded) = typed::decode(object.clone(), state.cursor(gvk), false)
        {
            object = decoded.object;
        }
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        if ends_initial {
            object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        self.line("BOOKMARK", &object, state.settings.clock.seconds())
    }

    /// Reads the changes after `revision`. Ends the watch if the store no longer has them after a compaction.
    fn read(&mut self, state: &State) {
        let current = state.store.revision();
        let changes = match state.store.changes_after(&self.collection, self.revision) {
            Ok(changes) => changes.take(BATCH),
            Err(compacted) => {
                let message = format!("too old resource version: {} ({compacted})", self.revision);
                self.lines.push_back(event("ERROR", &Failure::gone(message).to_status()));
                self.has_ended = true;
                return;
            }
        };
        let now = state.settings.clock.seconds();
        let mut count = 0;
        let mut lines = Vec::new();
        for change in changes {
            count += 1;
            self.revision = change.revision;
            lines.extend(self.selected(change, now));
        }
        if count < BATCH {
            self.revision = current;
        }
        self.lines.extend(lines);
    }

    /// Returns the event for a change, taking the selectors into account.
    fn selected(&self, change: &Change, now: i64) -> Option<Bytes> {
        let is_there = |key: &str| {
            self.namespace.is_empty()
                || key.strip_prefix(self.namespace.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        if !is_there(&change.key) {
            return None;
        }
        let chosen =
            |object: &Option<Arc<Value>>| object.clone().filter(|object| self.selectors.matches(object));
        let Events { added, modified, deleted } = &change.events;
        match (chosen(&change.previous), chosen(&change.object)) {
            (None, None) => None,
            (None, Some(new)) => Some(self.shared_line("ADDED", &new, added, now)),
            (Some(_), Some(new)) => Some(self.shared_line("MODIFIED", &new, modified, now)),
            (Some(old), None) => {
                let mut last = Value::clone(&old);
                last["metadata"]["resourceVersion"] = change.revision.to_string().into();
                Some(self.shared_line("DELETED", &last, deleted, now))
            }
        }
    }

    /// Returns an event. Watches of the storage version share its text.
    fn shared_line(&self, kind: &str, object: &Value, known: &OnceLock<Bytes>, now: i64) -> Bytes {
        let gvk = &self.resource.gvk;
        let is_stored = object["apiVersion"] == *gvk.api_version() && object["kind"] == *gvk.kind;
        if is_stored && self.table.is_none() && !self.is_metadata {
            known.get_or_init(|| event(kind, object)).clone()
        } else {
            self.line(kind, object, now)
        }
    }

    /// Returns the next line, or `None` at the end.
    pub(crate) fn poll_line(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match &mut self.rest {
            None => self.poll_next_line(context),
            Some(0) => Poll::Ready(None),
            Some(_) => {
                let line = self.poll_next_line(context);
                if let (Poll::Ready(Some(_)), Some(rest)) = (&line, &mut self.rest) {
                    *rest -= 1;
                }
                line
            }
        }
    }

    fn poll_next_line(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(line) = self.lines.pop_front() {
            return Poll::Ready(Some(line));
        }
        if self.has_ended {
            return Poll::Ready(None);
        }
        let shared = Arc::clone(&self.shared);
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.interrupted >= self.id {
            self.has_ended = true;
            return Poll::Ready(None);
        }
        self.read(&shared.state);
        if let Some(line) = self.lines.pop_front() {
            return Poll::Ready(Some(line));
        }
        shared.state.store.wake_on_change(&self.collection, self.id, context.waker());
        self.poll_timer(&shared.state, context)
    }

    /// Waits for the next bookmark or the end.
    fn poll_timer(&mut self, state: &State, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let end_at = *self.end_at.get_or_insert_with(|| Instant::now() + self.timeout);
        let next = end_at.min(Instant::now() + BOOKMARK_INTERVAL);
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(next)));
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.timer = None;
        if Instant::now() >= end_at {
            self.has_ended = true;
        }
        if self.has_bookmarks {
            return Poll::Ready(Some(self.bookmark(state, false)));
        }
        if self.has_ended { Poll::Ready(None) } else { self.poll_timer(state, context) }
    }

    pub(crate) fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Frame<Bytes>>> {
        self.poll_line(context).map(|line| line.map(Frame::data))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Ok(mut shared) = self.shared.lock() {
            shared.state.store.forget(&self.collection, self.id);
        }
    }
}

fn event(kind: &str, object: &Value) -> Bytes {
    let mut line = serde_json::to_vec(&json!({"type": kind, "object": object})).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
