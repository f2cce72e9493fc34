//! What is there of many objects, told by lists of collections.
//!
//! Knows nothing of what the objects are compared with.

use futures::StreamExt as _;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;

use super::client::Cluster;
use super::exchange::{Ask, JSON, METADATA_LIST, unordered};
use super::failure::{Refusal, not_understood};
use super::json;
use super::mapping::encode;
use super::plan::PlannedObject;
use smp_text::diagnostic::Result;

/// From so many objects of one collection on, one list spares asking for each.
const MANY: usize = 8;

/// A collection is looked through for so many objects, or pages, for each that is wanted.
const FOR_EACH: usize = 4;

/// So many collections are listed at a time.
const AT_A_TIME: usize = 8;

/// What is listed of an object, and how many come with one answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListForm {
    pub(super) accept: &'static str,
    pub(super) page: usize,
}

impl ListForm {
    /// Metadata alone: objects may be large.
    pub(super) const METADATA: Self = Self { accept: METADATA_LIST, page: 500 };

    /// All of it; a hundred of the largest objects are as much as one answer may have.
    pub(super) const WHOLE: Self = Self { accept: JSON, page: 100 };
}

/// An object of a collection that was listed.
#[derive(Debug)]
pub(super) enum ListedObject<T> {
    Absent,
    Present(T),
}

/// The objects that lists covered, by the path of their collection and their name.
#[derive(Debug)]
pub(super) struct Listed<T>(FxHashMap<(String, SmolStr), ListedObject<T>>);

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<T> Listed<T> {
    /// Lists the collections that many of the objects are of. What is of one that has far more objects than are asked
    /// for, or may not be listed, is left to be asked for one by one.
    ///
    /// # Errors
    /// There is no answer, or one that is not understood.
    pub(super) async fn of(
        cluster: &Cluster,
        targets: &[&PlannedObject<'_>],
        form: ListForm,
        keep: impl Fn(&PlannedObject<'_>, Value) -> T,
    ) -> Result<Self> {
        let mut groups: FxHashMap<String, Vec<&PlannedObject<'_>>> = FxHashMap::default();
        for target in targets.iter().filter(|target| target.served) {
            if let Some(path) = collection(target) {
                groups.entry(path).or_default().push(target);
            }
        }
        let large = groups.into_iter().filter(|(_, targets)| targets.len() >= MANY);
        let lists = large.map(|(path, targets)| async move {
            let names = targets.iter().map(|target| target.object.name.as_str()).collect();
            let found = list(cluster, &path, &names, form).await?;
            Ok(found.map(|found| (path, targets, found)))
        });
        let mut lists = unordered(lists, AT_A_TIME);
        let mut listed = Self::default();
        while let Some(list) = lists.next().await {
            let Some((path, targets, mut found)) = list? else { continue };
            for target in targets {
                let name = &target.object.name;
                let object = found.remove(name);
                let object = object.map_or(ListedObject::Absent, |o| ListedObject::Present(keep(target, o)));
                listed.0.insert((path.clone(), name.clone()), object);
            }
        }
        Ok(listed)
    }

    /// An object; none if no list covered it.
    pub(super) fn take(&mut self, target: &PlannedObject<'_>) -> Option<ListedObject<T>> {
        self.0.remove(&(collection(target)?, target.object.name.clone()))
    }

    /// As [`Listed::take`], and it stays.
    pub(super) fn get(&self, target: &PlannedObject<'_>) -> Option<&ListedObject<T>> {
        self.0.get(&(collection(target)?, target.object.name.clone()))
    }
}

fn collection(target: &PlannedObject<'_>) -> Option<String> {
    Some(target.mapping.as_ref()?.collection(&target.object.namespace))
}

/// The objects of a collection that have the names, by these; none when it has too many others, or may not be listed.
async fn list(
    cluster: &Cluster,
    path: &str,
    names: &FxHashSet<&str>,
    form: ListForm,
) -> Result<Option<FxHashMap<SmolStr, Value>>> {
    let (mut found, mut seen) = (FxHashMap::default(), 0);
    let mut pages = Pages::new(cluster, format!("{path}?"), form);
    while let Some(page) = pages.next().await? {
        let Ok(items) = page else { return Ok(None) };
        seen += items.len();
        for item in items {
            let name = item.pointer("/metadata/name").and_then(Value::as_str);
            if let Some(name) = name.filter(|name| names.contains(name)).map(SmolStr::from) {
                found.insert(name, item);
            }
        }
        if pages.next.is_some() && seen >= FOR_EACH * names.len().max(form.page) {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// A list that comes in pages.
struct Pages<'c> {
    cluster: &'c Cluster,
    /// The path and query of the collection, to which parameters can be appended.
    path: String,
    form: ListForm,
    /// The parameter for the next page; none after the last one.
    next: Option<String>,
}

impl<'c> Pages<'c> {
    fn new(cluster: &'c Cluster, path: String, form: ListForm) -> Self {
        Self { cluster, path, form, next: Some(String::new()) }
    }

    /// The items of the next page.
    ///
    /// # Errors
    /// No answer, or one that is no list. A refusal is an answer.
    async fn next(&mut self) -> Result<Option<std::result::Result<Vec<Value>, Refusal>>> {
        let Some(next) = self.next.take() else { return Ok(None) };
        let Self { cluster, path, form, .. } = self;
        let ask = Ask { accept: form.accept, ..Ask::get(format!("{path}limit={}{next}", form.page)) };
        let answer = match cluster.ask(&ask).await?.accepted() {
            Ok(answer) => answer,
            Err(refusal) => return Ok(Some(Err(refusal))),
        };
        let mut page: Value = cluster.read_with(json::decode, &answer)?;
        let token =
            page.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty());
        self.next = token.map(|token| format!("&continue={}", encode(token)));
        match page.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(Some(Ok(items))),
            Some(Value::Null) => Ok(Some(Ok(Vec::new()))),
            _ => Err(not_understood(&cluster.endpoint, &ask.path, &"it is no list")),
        }
    }
}

/// The metadata of what a collection has, with a label or all of it.
///
/// # Errors
/// No answer, or one that is no list. A refusal is an answer.
pub(super) async fn metadata_of(
    cluster: &Cluster,
    path: &str,
    selector: &str,
) -> Result<std::result::Result<Vec<Value>, Refusal>> {
    items_of(cluster, path, selector, ListForm::METADATA).await
}

/// What a collection has, with a label or all of it.
///
/// # Errors
/// No answer, or one that is no list. A refusal is an answer.
pub(super) async fn items_of(
    cluster: &Cluster,
    path: &str,
    selector: &str,
    form: ListForm,
) -> Result<std::result::Result<Vec<Value>, Refusal>> {
    let mut found = Vec::new();
    let mut pages = Pages::new(cluster, format!("{path}?labelSelector={}&", encode(selector)), form);
    while let Some(page) = pages.next().await? {
        match page {
            Ok(items) => found.extend(items),
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
    Ok(Ok(found))
}
