//! Sends requests through a `kube::Client` to any server.

use http::Request;
use kube::{Client, Error};
use serde_json::{Value, json};

use super::requests::{Row, Words, named, value_named, without_generated_fields};

/// Blocks until a future is complete.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

/// The response: the object, or the status of the failure.
pub async fn answer(client: &Client, row: &Row, name: &str) -> Result<Value, Value> {
    let body = match &row.body {
        Value::Null => Vec::new(),
        body => value_named(body, name).to_string().into_bytes(),
    };
    let request = Request::builder().method(row.method).uri(named(row.path, name));
    let request = request.header("content-type", row.content_type).body(body).expect("a request");
    match client.request::<Value>(request).await {
        Ok(answer) => Ok(without_generated_fields(answer)),
        Err(Error::Api(status)) => Err(failure(&status)),
        Err(error) => panic!("{} {}: {error}", row.method, row.path),
    }
}

/// The fields of a failure status. The server repeats some causes.
fn failure(status: &kube::core::Status) -> Value {
    let mut details = serde_json::to_value(&status.details).expect("JSON");
    if let Some(causes) = details.get_mut("causes").and_then(Value::as_array_mut) {
        causes.dedup();
    }
    json!({"code": status.code, "reason": status.reason, "message": status.message, "details": details})
}

/// Reports whether a response is the expected one.
pub fn is_expected(answer: &Result<Value, Value>, row: &Row) -> bool {
    match answer {
        Ok(_) => row.code < 300,
        Err(status) => {
            let says = |text: &str| status["message"].as_str().is_some_and(|message| message.contains(text));
            let is_said = match row.words {
                Words::Same => true,
                Words::Ours { about } => says(about),
            };
            status["code"] == row.code && status["reason"] == row.reason && is_said
        }
    }
}
