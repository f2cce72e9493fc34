//! A decoded value with its source location.
//!
//! Defines the protocol between [`Spanned`] and the decoder: a struct with a reserved name, whose fields are the
//! numbers of the span and the value.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use serde::de::value::{BorrowedStrDeserializer, U32Deserializer};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};

use crate::source::{SourceId, Span};

/// The reserved struct name that the decoder recognizes.
pub(super) const STRUCT_NAME: &str = "$smp_text::yaml::Spanned";

const FIELDS: &[&str] = &["$source", "$start", "$end", "$value"];

/// A value and its source location. The location is ignored in comparisons.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spanned<T> {
    /// The decoded value.
    pub value: T,
    /// The source location of the value.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Creates a value with a source location.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T: AsRef<str>> Spanned<T> {
    /// Returns the text with its location.
    pub fn text(&self) -> Spanned<&str> {
        Spanned { value: self.value.as_ref(), span: self.span }
    }
}

impl<T> From<T> for Spanned<T> {
    /// Creates a value without a location.
    fn from(value: T) -> Self {
        Self { value, span: Span::default() }
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Spanned<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}

impl<T: Hash> Hash for Spanned<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl<T: fmt::Display> fmt::Display for Spanned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct(STRUCT_NAME, FIELDS, SpannedVisitor(PhantomData))
    }
}

/// Builds a [`Spanned`] from the fields of [`SpannedFields`].
struct SpannedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
    type Value = Spanned<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with its location")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Spanned<T>, A::Error> {
        let mut number = |name: &'static str| match map.next_entry::<&str, u32>()? {
            Some((key, value)) if key == name => Ok(value),
            _ => Err(de::Error::missing_field(name)),
        };
        let (source, start, end) = (number(FIELDS[0])?, number(FIELDS[1])?, number(FIELDS[2])?);
        let Some((_, value)) = map.next_entry::<&str, T>()? else {
            return Err(de::Error::missing_field(FIELDS[3]));
        };
        Ok(Spanned { value, span: Span { source: SourceId::from_number(source), start, end } })
    }
}

/// The fields of a [`Spanned`]: the numbers of the span, then the value.
pub(super) struct SpannedFields<D> {
    span: Span,
    value: Option<D>,
    next: usize,
}

impl<D> SpannedFields<D> {
    pub(super) fn new(span: Span, value: D) -> Self {
        Self { span, value: Some(value), next: 0 }
    }
}

impl<'de, D: Deserializer<'de>> MapAccess<'de> for SpannedFields<D> {
    type Error = D::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, D::Error> {
        let Some(name) = FIELDS.get(self.next) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, D::Error> {
        let number = match self.next {
            1 => self.span.source.number(),
            2 => self.span.start,
            3 => self.span.end,
            _ => {
                let value = self.value.take().ok_or_else(|| de::Error::missing_field(FIELDS[3]))?;
                return seed.deserialize(value);
            }
        };
        let number: U32Deserializer<D::Error> = number.into_deserializer();
        seed.deserialize(number)
    }
}
