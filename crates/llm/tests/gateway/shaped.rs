//! Answers of a declared form: how each provider is told, and what becomes of those that
//! do not fit.

use std::sync::atomic::Ordering;
use std::time::Duration;

use missiond_llm::{AnswerSchema, Llm, LlmError, Shaped};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::room::{Act, Room, Server, ask_of, http, room, serve};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Verdict {
    /// How sure it is.
    confidence: u8,
    reason: String,
}

const FITS: &str = r#"{"confidence": 90, "reason": "it only reads"}"#;

/// A whole answer of Chat Completions.
fn saying(text: &str) -> Act {
    let body = json!({
        "id": "c", "model": "m-1",
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    });
    http(200, "", &body.to_string())
}

/// The bodies that were sent.
fn bodies(server: &Server) -> Vec<Value> {
    let requests = server.requests.lock();
    let body = |request: &String| {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    };
    requests.iter().map(body).collect()
}

async fn verdict(room: &Room) -> Result<Shaped<Verdict>, LlmError> {
    let ask = ask_of(&["p/m"], Duration::from_secs(20));
    room.llm.ask_for::<Verdict>(&ask).await
}

#[tokio::test]
async fn each_format_is_told_the_schema_in_its_own_way() {
    let answer: Value = serde_json::from_str(FITS).unwrap();
    let chat = json!({"choices": [{"message": {"content": FITS}, "finish_reason": "stop"}]});
    let responses = json!({
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": FITS}]}],
    });
    let anthropic = json!({
        "content": [{"type": "tool_use", "id": "t", "name": "answer", "input": answer}],
        "stop_reason": "tool_use",
    });
    let gemini = json!({
        "candidates": [{"content": {"parts": [{"text": FITS}]}, "finishReason": "STOP"}],
    });
    let ollama = json!({"message": {"content": FITS}, "done": true, "done_reason": "stop"});
    for (format, body, place) in [
        ("chat", chat, "/response_format/json_schema/schema"),
        ("responses", responses, "/text/format/schema"),
        ("anthropic", anthropic, "/tools/0/input_schema"),
        ("gemini", gemini, "/generationConfig/responseJsonSchema"),
        ("ollama", ollama, "/format"),
    ] {
        let server = serve(vec![http(200, "", &format!("{body}\n"))]);
        let provider = format!(
            "[[llm.providers]]\nname = \"p\"\nformat = \"{format}\"\nurl = \"{}\"\n",
            server.url
        );
        let room = room(&provider, &[]).await;
        let shaped = verdict(&room).await.unwrap();
        assert_eq!(shaped.value.confidence, 90, "{format}");
        assert!(shaped.mended.is_empty());
        let sent = bodies(&server).remove(0);
        let schema = sent.pointer(place);
        let schema = schema.unwrap_or_else(|| panic!("{format}: {sent}"));
        assert_eq!(schema["required"], json!(["confidence", "reason"]));
        assert_eq!(
            schema["properties"]["confidence"]["description"],
            "How sure it is."
        );
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_mended_once() {
    for (first, told) in [
        (
            r#"{"confidence": "high", "reason": "x"}"#,
            "/confidence must be integer, and is string",
        ),
        (
            r#"{"confidence": 900, "reason": "x"}"#,
            "/confidence must be at most 255, and is 900",
        ),
        (r#"{"confidence": 1}"#, "the answer lacks `reason`"),
        ("I am quite sure.", "the answer is no JSON"),
        ("", "the answer is no JSON"),
    ] {
        let server = serve(vec![saying(first), saying(FITS)]);
        let room = room("", &[("p", &server.url)]).await;
        let shaped = verdict(&room).await.unwrap();
        assert_eq!(shaped.value.reason, "it only reads");
        assert!(
            shaped.mended[0].to_string().contains(told),
            "{:?}",
            shaped.mended
        );
        assert_eq!(shaped.cost, Some(40), "both are paid");
        let sent = bodies(&server);
        let messages = sent[1]["messages"].as_array().unwrap();
        assert_eq!(messages[0]["content"], "say hello");
        assert_eq!(messages[1]["role"], "assistant");
        let again = messages[2]["content"].as_str().unwrap();
        assert!(again.contains(told), "{again}");
        assert_eq!(sent[0]["response_format"], sent[1]["response_format"]);
        let requests = room.requests().await;
        assert_eq!(requests.iter().filter_map(|one| one.cost).sum::<u64>(), 40);
    }
}

#[tokio::test]
async fn a_fence_around_the_json_is_taken_off() {
    let server = serve(vec![saying(&format!("```json\n{FITS}\n```"))]);
    let room = room("", &[("p", &server.url)]).await;
    assert!(verdict(&room).await.unwrap().mended.is_empty());
}

#[tokio::test]
async fn an_answer_that_never_fits_is_an_error_that_says_why() {
    let server = serve(vec![saying("{}"), saying(r#"{"confidence": -1}"#)]);
    let room = room("", &[("p", &server.url)]).await;
    let error = verdict(&room).await.unwrap_err();
    let LlmError::Unfit { model, problems } = &error else {
        panic!("{error}");
    };
    assert_eq!((model.as_str(), problems.len()), ("p/m", 2));
    let said = error.to_string();
    assert!(
        said.contains("lacks `reason`") && said.contains("/confidence must be at least 0"),
        "{said}"
    );
    assert_eq!(server.asked.load(Ordering::SeqCst), 2, "no third time");
}

#[tokio::test]
async fn what_is_refused_is_not_asked_for_again() {
    let body = json!({
        "choices": [{"message": {"refusal": "not this"}, "finish_reason": "content_filter"}],
    });
    let server = serve(vec![http(200, "", &body.to_string())]);
    let room = room("", &[("p", &server.url)]).await;
    let error = verdict(&room).await.unwrap_err();
    assert!(
        matches!(&error, LlmError::Declined { said, .. } if said == "not this"),
        "{error}"
    );
    assert_eq!(server.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn mending_is_reserved_like_any_request() {
    let server = serve(vec![saying("{}")]);
    // The first may cost about 0.0007 dollars and costs 0.00002; the second is longer.
    let most = {
        let room = room("", &[("p", &server.url)]).await;
        let _ = verdict(&room).await;
        let requests = room.requests().await;
        requests[0].reserved - 1
    };
    let server = serve(vec![saying("{}")]);
    let limit = format!("request_usd = {}", most as f64 / 1e6);
    let room = room(&limit, &[("p", &server.url)]).await;
    let error = verdict(&room).await.unwrap_err();
    assert!(matches!(error, LlmError::Spent { .. }), "{error}");
    assert_eq!(server.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_that_does_not_fit_gets_its_result() {
    let called = |input: Value| {
        let body = json!({
            "content": [{"type": "tool_use", "id": "t1", "name": "answer", "input": input}],
            "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1},
        });
        http(200, "", &body.to_string())
    };
    let fits = serde_json::from_str(FITS).unwrap();
    let server = serve(vec![called(json!({"confidence": 1})), called(fits)]);
    let provider = format!(
        "keep = \"masked\"\n[[llm.providers]]\nname = \"p\"\nformat = \"anthropic\"\nurl = \"{}\"\n",
        server.url
    );
    let room = room(&provider, &[]).await;
    let schema = AnswerSchema::of::<Verdict>().unwrap();
    let shaped = shaped_of(&room.llm, &schema).await;
    assert_eq!(shaped.value["confidence"], 90);
    let sent = bodies(&server).remove(1);
    assert_eq!(sent["messages"][1]["content"][0]["type"], "tool_use");
    let result = &sent["messages"][2]["content"][0];
    assert_eq!(
        (&result["type"], &result["tool_use_id"], &result["is_error"]),
        (&json!("tool_result"), &json!("t1"), &json!(true))
    );
    let kept = room.requests().await.remove(0).answer.unwrap();
    assert!(kept.contains("it only reads"), "{kept}");
}

async fn shaped_of(llm: &Llm, schema: &AnswerSchema) -> Shaped<Value> {
    let ask = ask_of(&["p/m"], Duration::from_secs(20));
    llm.ask_shaped(&ask, schema).await.unwrap()
}
