//! What becomes of the objects of a collection: one list, then one watch, for as long as somebody asks.
//!
//! A watch that ends is taken up where it ended; where the server has forgotten that place, the collection is listed
//! again. Knows nothing of what the objects are wanted for.

mod collection;
mod stream;

use std::pin::pin;
use std::time::Duration;

use futures::future::{Either, join_all, select};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep};

pub(super) use collection::{Collection, ObjectContent};
use stream::{WatchEnd, WatchStream, WatchedChange};

use super::client::Cluster;
use super::exchange::{Answer, Ask};
use super::failure::not_understood;
use super::json;
use smp_text::diagnostic::Diagnostic;
use smp_text::yaml::Node;

/// Something that was seen of a collection.
#[derive(Debug)]
pub(super) enum Sight {
    /// All that is there.
    Listed(Vec<Node>),
    /// An object as it is now.
    Now(Node),
    /// An object as it was last.
    Gone(Node),
    /// The server does not serve the kind, now.
    Unserved,
    /// It was not told for a moment, and is asked for again.
    Lost(Diagnostic),
    /// It may not be seen; nothing more comes.
    Refused(Diagnostic),
}

/// Where sights go, each with the number of its collection.
type Sights = UnboundedSender<(usize, Sight)>;

/// How many collections are listed at a time.
const LISTS: usize = 8;

/// The shortest and the longest pause before something is asked for again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// A watch that lives so long was none that failed at once.
const WELL_LIVED: Duration = Duration::from_secs(1);

/// Follows collections until the future that gets what is seen has ended.
pub(super) async fn follow<F: Future>(
    cluster: &Cluster,
    collections: &[Collection],
    until: impl FnOnce(UnboundedReceiver<(usize, Sight)>) -> F,
) -> F::Output {
    let (sights, seen) = unbounded_channel();
    let turns = Semaphore::new(LISTS);
    let followers = collections.iter().enumerate().map(|(number, collection)| {
        let sights = sights.clone();
        Follower { cluster, number, collection, sights, turns: &turns }.run()
    });
    let followers = pin!(join_all(followers.collect::<Vec<_>>()));
    // The sender here keeps the channel open when all that is followed was refused.
    let output = match select(pin!(until(seen)), followers).await {
        Either::Left((output, _)) => output,
        Either::Right((_, until)) => until.await,
    };
    drop(sights);
    output
}

/// A collection that is followed.
struct Follower<'a> {
    cluster: &'a Cluster,
    number: usize,
    collection: &'a Collection,
    sights: Sights,
    /// Lets some of many collections be listed at a time.
    turns: &'a Semaphore,
}

impl Follower<'_> {
    /// Tells what is seen, until it is refused or dropped.
    async fn run(self) {
        if let Some(gate) = &self.collection.gate {
            gate.notified().await;
        }
        let mut pause = PAUSES.0;
        loop {
            let start = Instant::now();
            match self.list().await {
                Ok(version) => self.watch(version).await,
                Err(refused @ Sight::Refused(_)) => return self.tell(refused),
                Err(sight) => self.tell(sight),
            }
            pause = if start.elapsed() >= WELL_LIVED { PAUSES.0 } else { (2 * pause).min(PAUSES.1) };
            sleep(pause).await;
        }
    }

    fn tell(&self, sight: Sight) {
        // Whoever asked may know enough by now.
        let _heard = self.sights.send((self.number, sight));
    }

    /// Tells what is there; returns the version of which that is true.
    async fn list(&self) -> Result<String, Sight> {
        let _turn = self.turns.acquire().await;
        let path = self.collection.list_path();
        let ask = Ask { accept: self.collection.content.of_list(), ..Ask::get(path.as_str()) };
        let answer = self.answer(&ask, || Sight::Unserved).await?;
        let strange = |error: &dyn std::fmt::Display| {
            Sight::Refused(not_understood(&self.cluster.endpoint, &path, error))
        };
        let mut list = json::read_object(&answer.body).map_err(|error| strange(&error))?;
        let version = list.get_path(&["metadata", "resourceVersion"]).and_then(Node::as_str);
        let version = version.filter(|version| !version.is_empty()).map(str::to_string);
        let version = version.ok_or_else(|| strange(&"it is no list"))?;
        let items = list.get_mut("items").and_then(Node::as_list_mut).map(std::mem::take);
        let mut objects = Vec::new();
        for item in items.unwrap_or_default() {
            match self.completed(item).await {
                Ok(object) => objects.push(object),
                Err(Sight::Gone(_)) => {}
                Err(sight) => return Err(sight),
            }
        }
        self.tell(Sight::Listed(objects));
        Ok(version)
    }

    /// An object of which as much is known as is wanted, now that its metadata are.
    async fn completed(&self, object: Node) -> Result<Node, Sight> {
        let ObjectContent::MetadataUnless(annotation) = self.collection.content else { return Ok(object) };
        let name = object.get_path(&["metadata", "name"]).and_then(Node::as_str);
        let Some(name) = name.filter(|_| object.get_path(&["metadata", "annotations", annotation]).is_some())
        else {
            return Ok(object);
        };
        let path = self.collection.mapping.path(&self.collection.namespace, name);
        let answer = self.answer(&Ask::object(path), || Sight::Gone(object)).await?;
        self.cluster.read_with(json::read_object, &answer).map_err(Sight::Refused)
    }

    async fn answer(&self, ask: &Ask, absent: impl FnOnce() -> Sight) -> Result<Answer, Sight> {
        let answer = self.cluster.ask(ask).await.map_err(Sight::Lost)?;
        answer.accepted().map_err(|refusal| match refusal.http {
            404 => absent(),
            429 | 500.. => Sight::Lost(refusal.diagnostic(&self.cluster.endpoint)),
            _ => Sight::Refused(refusal.diagnostic(&self.cluster.endpoint)),
        })
    }

    /// Tells what changes after a version, until the collection has to be listed again.
    async fn watch(&self, mut version: String) {
        loop {
            let start = Instant::now();
            let mut changes = match WatchStream::open(self.cluster, self.collection, &version).await {
                Ok(changes) => changes,
                Err(WatchEnd::Again) => return,
                Err(WatchEnd::Lost(problem)) => return self.tell(Sight::Lost(problem)),
            };
            loop {
                match changes.next().await {
                    Ok(Some((change, at))) => {
                        version = at;
                        match change {
                            WatchedChange::Now(object) => match self.completed(object).await {
                                Ok(object) => self.tell(Sight::Now(object)),
                                Err(sight) => self.tell(sight),
                            },
                            WatchedChange::Gone(object) => self.tell(Sight::Gone(object)),
                            WatchedChange::None => {}
                        }
                    }
                    Ok(None) => break,
                    Err(WatchEnd::Again) => return,
                    Err(WatchEnd::Lost(problem)) => return self.tell(Sight::Lost(problem)),
                }
            }
            if start.elapsed() < WELL_LIVED {
                sleep(PAUSES.0).await;
            }
        }
    }
}
