//! Asks through a `kube::Client`, whatever is behind it.

use http::Request;
use kube::{Client, Error};
use serde_json::Value;

use super::requests::{Row, named, value_named, without_own};

/// Runs to the end what waits for answers.
pub fn block_on<T>(asked: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(asked)
}

/// What is answered: the object, or status and reason.
pub async fn answer(client: &Client, row: &Row, name: &str) -> Result<Value, (u16, String)> {
    let body = match &row.body {
        Value::Null => Vec::new(),
        body => value_named(body, name).to_string().into_bytes(),
    };
    let request = Request::builder().method(row.method).uri(named(row.path, name));
    let request = request.header("content-type", row.content_type).body(body).expect("a request");
    match client.request::<Value>(request).await {
        Ok(answer) => Ok(without_own(answer)),
        Err(Error::Api(status)) => Err((status.code, status.reason.clone())),
        Err(error) => panic!("{} {}: {error}", row.method, row.path),
    }
}

/// Whether an answer is the one that was foreseen.
pub fn is_foreseen(answer: &Result<Value, (u16, String)>, row: &Row) -> bool {
    match answer {
        Ok(_) => row.code < 300,
        Err((code, reason)) => (*code, reason.as_str()) == (row.code, row.reason),
    }
}
