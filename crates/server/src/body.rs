//! The bodies of responses: bytes, or the events of a watch.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::verbs::watch::Watch;

/// The body of a response. It only fails if a fault cuts it off.
#[derive(Debug)]
pub struct Body {
    content: Content,
    cut: Cut,
}

#[derive(Debug)]
enum Content {
    Bytes(Option<Bytes>),
    Watch(Box<Watch>),
}

/// The state of a fault that cuts off a body in the middle of its first part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Never,
    First,
    Now,
}

impl Body {
    pub(crate) fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self { content: Content::Bytes(Some(bytes.into())), cut: Cut::Never }
    }

    pub(crate) fn watch(watch: Watch) -> Self {
        Self { content: Content::Watch(Box::new(watch)), cut: Cut::Never }
    }

    /// Returns the body, cut off after its first half.
    pub(crate) fn cut(self) -> Self {
        Self { cut: Cut::First, ..self }
    }
}

/// Returns the error of a closed connection.
pub(crate) fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "a fault of the test closed the connection")
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.cut == Cut::Now {
            return Poll::Ready(Some(Err(closed())));
        }
        let frame = match &mut self.content {
            Content::Bytes(bytes) => {
                Poll::Ready(bytes.take().filter(|bytes| !bytes.is_empty()).map(Frame::data))
            }
            Content::Watch(watch) => watch.poll_frame(context),
        };
        let Poll::Ready(frame) = frame else { return Poll::Pending };
        if self.cut == Cut::Never {
            return Poll::Ready(frame.map(Ok));
        }
        self.cut = Cut::Now;
        let half = |bytes: Bytes| bytes.slice(..bytes.len() / 2);
        let half = frame.and_then(|frame| frame.into_data().ok()).map(half).unwrap_or_default();
        Poll::Ready(Some(Ok(Frame::data(half))))
    }

    fn is_end_stream(&self) -> bool {
        self.cut == Cut::Never && matches!(&self.content, Content::Bytes(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Bytes(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Content::Watch(_) => SizeHint::default(),
        }
    }
}
