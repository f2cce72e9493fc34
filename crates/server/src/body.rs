//! The bodies of responses: bytes, or the events of a watch.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::verbs::watch::Watch;

/// The body of a response.
#[derive(Debug)]
pub struct Body(Content);

#[derive(Debug)]
enum Content {
    Bytes(Option<Bytes>),
    Watch(Box<Watch>),
}

impl Body {
    pub(crate) fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self(Content::Bytes(Some(bytes.into())))
    }

    pub(crate) fn watch(watch: Watch) -> Self {
        Self(Content::Watch(Box::new(watch)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Content::Bytes(bytes) => {
                Poll::Ready(bytes.take().filter(|bytes| !bytes.is_empty()).map(Frame::data).map(Ok))
            }
            Content::Watch(watch) => watch.poll_frame(context).map(|frame| frame.map(Ok)),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Content::Bytes(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Bytes(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Content::Watch(_) => SizeHint::default(),
        }
    }
}
