//! Flow maps and lists, which include JSON.

use granit_parser::{Event, StructureStyle};

use super::block::{BlockReader, MAX_LEVELS};
use super::bytes::Mark;
use super::scalar::{self, MAX_KEY, Stop};
use crate::yaml::events::Receiver;

impl<'t, R: Receiver> BlockReader<'t, R> {
    /// Reads a flow collection from its bracket.
    pub(super) fn flow(&mut self) -> Option<()> {
        // True for each open collection that is a map.
        let mut open = Vec::new();
        self.open_bracket(&mut open)?;
        while let Some(&is_map) = open.last() {
            if is_map {
                self.flow_key()?;
            }
            match self.byte()? {
                b'[' | b'{' => self.open_bracket(&mut open)?,
                _ => {
                    self.flow_scalar()?;
                    self.after_flow_value(&mut open)?;
                }
            }
        }
        Some(())
    }

    /// Skips white space, including that between lines.
    fn flow_blanks(&mut self) -> Option<()> {
        loop {
            self.skip_spaces();
            if self.byte() != Some(b'\n') {
                return Some(());
            }
            self.break_line();
            if let Some(b'-' | b'.') = self.byte() {
                return None;
            }
        }
    }

    /// Begins a collection. Ends it if it is empty.
    fn open_bracket(&mut self, open: &mut Vec<bool>) -> Option<()> {
        let is_map = self.byte() == Some(b'{');
        let start = if is_map {
            Event::MappingStart(StructureStyle::Flow, 0, None)
        } else {
            Event::SequenceStart(StructureStyle::Flow, 0, None)
        };
        self.bracket(start)?;
        open.push(is_map);
        if self.frames.len() + open.len() > MAX_LEVELS {
            return None;
        }
        self.flow_blanks()?;
        match self.byte()? {
            b']' | b'}' => self.after_flow_value(open),
            _ => Some(()),
        }
    }

    /// Emits the event of a bracket.
    fn bracket(&mut self, event: Event<'t>) -> Option<()> {
        let from = self.mark();
        self.at += 1;
        self.emit(event, from, Mark { at: self.at, ..from })
    }

    /// Reads the comma after a value, or closing brackets and the comma after them.
    fn after_flow_value(&mut self, open: &mut Vec<bool>) -> Option<()> {
        let mut is_comma = false;
        while let Some(&is_map) = open.last() {
            self.flow_blanks()?;
            match (self.byte()?, is_map) {
                (b',', _) if !is_comma => {
                    self.at += 1;
                    is_comma = true;
                    continue;
                }
                (b']', false) => self.bracket(Event::SequenceEnd)?,
                (b'}', true) => self.bracket(Event::MappingEnd)?,
                _ if is_comma => return Some(()),
                _ => return None,
            }
            open.pop();
            is_comma = false;
        }
        Some(())
    }

    /// Reads a key, its colon and the spaces after it.
    fn flow_key(&mut self) -> Option<()> {
        let start = self.at;
        let scalar = if let Some(b'"' | b'\'') = self.byte() {
            self.quoted(usize::MAX)?
        } else {
            let plain = scalar::flow_plain(self.bytes, start).filter(|plain| plain.stop == Stop::Colon)?;
            self.plain(self.mark(), &plain)
        };
        if self.byte() != Some(b':') || self.at - start > MAX_KEY {
            return None;
        }
        self.scalar(scalar)?;
        self.at += 1;
        self.flow_blanks()
    }

    fn flow_scalar(&mut self) -> Option<()> {
        let scalar = if let Some(b'"' | b'\'') = self.byte() {
            self.quoted(usize::MAX)?
        } else {
            let plain = scalar::flow_plain(self.bytes, self.at).filter(|plain| plain.stop != Stop::Colon)?;
            self.plain(self.mark(), &plain)
        };
        self.scalar(scalar)
    }
}
