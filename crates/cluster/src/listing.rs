//! Reads many objects with list requests.

use futures::StreamExt as _;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;

use super::client::Cluster;
use super::errors::{ApiError, invalid_response};
use super::json;
use super::mapping::encode_segment;
use super::plan::ObjectTarget;
use super::request::{ApiRequest, JSON, METADATA_LIST, unordered};
use smp_text::diagnostic::Result;

/// The minimum number of objects in a collection for which one list request replaces single reads.
const LIST_THRESHOLD: usize = 3;

/// The maximum number of listed objects, or pages, for each requested object. Objects of larger collections are read
/// one by one.
const MAX_LISTED_RATIO: usize = 4;

/// The maximum size of a page in bytes after which the next page may have `LATER_PAGE` objects.
const SMALL_PAGE: usize = 4 << 20;
const LATER_PAGE: usize = 500;

/// Maximum number of collections that are listed in parallel.
const PARALLEL_LISTS: usize = 8;

/// The requested part of each object, and the page size.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListOptions {
    pub(super) accept: &'static str,
    pub(super) page: usize,
}

impl ListOptions {
    /// Metadata only, since objects may be large.
    pub(super) const METADATA: Self = Self { accept: METADATA_LIST, page: 500 };

    /// Whole objects. A hundred objects of maximum size fit into one response.
    pub(super) const WHOLE: Self = Self { accept: JSON, page: 100 };
}

/// The result for one object of a listed collection.
#[derive(Debug)]
pub(super) enum ListedObject<T> {
    Absent,
    Present(T),
}

impl<T> ListedObject<T> {
    pub(super) fn map<U>(self, convert: impl FnOnce(T) -> U) -> ListedObject<U> {
        match self {
            Self::Absent => ListedObject::Absent,
            Self::Present(object) => ListedObject::Present(convert(object)),
        }
    }
}

/// The objects that were in listed collections, by collection path and name.
#[derive(Debug)]
pub(super) struct ListedObjects<T>(FxHashMap<(String, SmolStr), ListedObject<T>>);

impl<T> Default for ListedObjects<T> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<T> ListedObjects<T> {
    /// Lists the collections that contain many of the objects. Collections that have far more objects than needed, or
    /// that cannot be listed, are skipped; their objects must be read one by one.
    ///
    /// # Errors
    /// There is no response, or an invalid one.
    pub(super) async fn list(
        cluster: &Cluster,
        targets: &[&ObjectTarget<'_>],
        form: ListOptions,
        keep: impl Fn(&ObjectTarget<'_>, Value) -> T,
    ) -> Result<Self> {
        let large = by_collection(targets).into_iter().filter(|(_, targets)| targets.len() >= LIST_THRESHOLD);
        let lists = large.map(|(path, targets)| async move {
            let names = targets.iter().map(|target| target.object.name.as_str()).collect();
            let found = list(cluster, &path, &names, form).await?;
            Ok(found.map(|found| (path, targets, found)))
        });
        let mut lists = unordered(lists, PARALLEL_LISTS);
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

    /// Adds an object that was read with a request of its own.
    pub(super) fn insert(&mut self, target: &ObjectTarget<'_>, object: ListedObject<T>) {
        if let Some(collection) = collection(target) {
            self.0.insert((collection, target.object.name.clone()), object);
        }
    }

    /// Removes and returns an object, or `None` if its collection was not listed.
    pub(super) fn take(&mut self, target: &ObjectTarget<'_>) -> Option<ListedObject<T>> {
        self.0.remove(&(collection(target)?, target.object.name.clone()))
    }

    /// Calls a function with each object that exists and the path of its collection.
    pub(super) fn for_each_present(&mut self, mut call: impl FnMut(&str, &mut T)) {
        for ((collection, _), object) in &mut self.0 {
            if let ListedObject::Present(object) = object {
                call(collection, object);
            }
        }
    }

    /// Returns an object, or `None` if its collection was not listed.
    pub(super) fn get(&self, target: &ObjectTarget<'_>) -> Option<&ListedObject<T>> {
        self.0.get(&(collection(target)?, target.object.name.clone()))
    }
}

/// Returns the objects in collections that contain too few of them for a list request.
pub(super) fn unlisted<'t, 'p>(targets: &[&'t ObjectTarget<'p>]) -> Vec<&'t ObjectTarget<'p>> {
    let groups = by_collection(targets).into_values();
    groups.filter(|targets| targets.len() < LIST_THRESHOLD).flatten().collect()
}

/// Groups the objects of served kinds by the path of their collection.
fn by_collection<'t, 'p>(targets: &[&'t ObjectTarget<'p>]) -> FxHashMap<String, Vec<&'t ObjectTarget<'p>>> {
    let mut groups: FxHashMap<String, Vec<&ObjectTarget<'_>>> = FxHashMap::default();
    for &target in targets.iter().filter(|target| target.served) {
        if let Some(path) = collection(target) {
            groups.entry(path).or_default().push(target);
        }
    }
    groups
}

fn collection(target: &ObjectTarget<'_>) -> Option<String> {
    Some(target.mapping.as_ref()?.collection(&target.object.namespace))
}

/// Lists the objects with the given names. Returns `None` if the collection has too many other objects or cannot be
/// listed.
async fn list(
    cluster: &Cluster,
    path: &str,
    names: &FxHashSet<&str>,
    form: ListOptions,
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
        if pages.next.is_some() && seen >= MAX_LISTED_RATIO * names.len().max(form.page) {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// A paginated list request.
struct Pages<'c> {
    cluster: &'c Cluster,
    /// The path and query of the collection, to which parameters can be appended.
    path: String,
    form: ListOptions,
    /// The parameter for the next page; `None` after the last page.
    next: Option<String>,
}

impl<'c> Pages<'c> {
    fn new(cluster: &'c Cluster, path: String, form: ListOptions) -> Self {
        Self { cluster, path, form, next: Some(String::new()) }
    }

    /// Returns the items of the next page.
    ///
    /// # Errors
    /// There is no response, or it is not a list. An HTTP error is returned as the inner result.
    async fn next(&mut self) -> Result<Option<std::result::Result<Vec<Value>, ApiError>>> {
        let Some(next) = self.next.take() else { return Ok(None) };
        let Self { cluster, path, form, .. } = self;
        let request =
            ApiRequest { accept: form.accept, ..ApiRequest::get(format!("{path}limit={}{next}", form.page)) };
        let response = match cluster.send(&request).await?.into_result() {
            Ok(response) => response,
            Err(api_error) => return Ok(Some(Err(api_error))),
        };
        let mut page: Value = cluster.parse_response(json::decode, &response)?;
        let token =
            page.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty());
        if response.body.len() <= SMALL_PAGE {
            form.page = form.page.max(LATER_PAGE);
        }
        self.next = token.map(|token| format!("&continue={}", encode_segment(token)));
        match page.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(Some(Ok(items))),
            Some(Value::Null) => Ok(Some(Ok(Vec::new()))),
            _ => Err(invalid_response(&cluster.endpoint, &request.path, &"the response is not a list")),
        }
    }
}

/// Lists the metadata of the objects in a collection, filtered by a label selector if it is not empty.
///
/// # Errors
/// There is no response, or it is not a list. An HTTP error is returned as the inner result.
pub(super) async fn list_metadata(
    cluster: &Cluster,
    path: &str,
    selector: &str,
) -> Result<std::result::Result<Vec<Value>, ApiError>> {
    list_items(cluster, path, selector, ListOptions::METADATA).await
}

/// Lists the objects of a collection, filtered by a label selector if it is not empty.
///
/// # Errors
/// There is no response, or it is not a list. An HTTP error is returned as the inner result.
pub(super) async fn list_items(
    cluster: &Cluster,
    path: &str,
    selector: &str,
    form: ListOptions,
) -> Result<std::result::Result<Vec<Value>, ApiError>> {
    let mut found = Vec::new();
    let mut pages = Pages::new(cluster, format!("{path}?labelSelector={}&", encode_segment(selector)), form);
    while let Some(page) = pages.next().await? {
        match page {
            Ok(items) => found.extend(items),
            Err(api_error) => return Ok(Err(api_error)),
        }
    }
    Ok(Ok(found))
}
