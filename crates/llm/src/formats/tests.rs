//! The same answers in every format, however their bytes are cut.

use missiond_core::Timestamp;
use missiond_net::http::{HeaderMap, StatusCode};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

use super::*;
use crate::items::*;

/// What a scenario comes to, whichever format it is told in.
#[derive(Debug, PartialEq)]
struct Told {
    items: Vec<String>,
    stop: Stop,
    input: Option<u64>,
    cached: Option<u64>,
    output: Option<u64>,
}

fn told(answer: &Answer) -> Told {
    let item = |item: &Item| match item {
        Item::Text(text) => format!("text {text}"),
        Item::Reasoning(reasoning) => format!("reasoning {}", reasoning.text),
        Item::Call(call) => format!("call {} {:?}", call.name, call.arguments),
        other => panic!("{other:?}"),
    };
    Told {
        items: answer.items.iter().map(item).collect(),
        stop: answer.stop,
        input: answer.usage.input,
        cached: answer.usage.cache_read,
        output: answer.usage.output,
    }
}

fn sse(events: &[Value]) -> Vec<u8> {
    let events = events.iter().map(|event| format!("data: {event}\n\n"));
    events.collect::<String>().into_bytes()
}

fn lines(events: &[Value]) -> Vec<u8> {
    let events = events.iter().map(|event| format!("{event}\n"));
    events.collect::<String>().into_bytes()
}

/// Reasons, says "Grüße, 世界", then asks for the weather and the time.
fn scenario(format: Format) -> Vec<u8> {
    match format {
        Format::Anthropic => sse(&[
            json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 20, "cache_read_input_tokens": 80, "output_tokens": 1}}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "let me "}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "see"}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Grüße, "}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "世界"}}),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "a", "name": "weather", "input": {}}}),
            json!({"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "b", "name": "time", "input": {}}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"city\":"}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "\"Köln\"}"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 30}}),
            json!({"type": "message_stop"}),
        ]),
        Format::Responses => sse(&[
            json!({"type": "response.created", "response": {"id": "r", "model": "x"}}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning"}}),
            json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "let me "}),
            json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "see"}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "reasoning", "encrypted_content": "zzz"}}),
            json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Grüße, "}),
            json!({"type": "response.output_text.delta", "output_index": 1, "delta": "世界"}),
            json!({"type": "response.output_item.added", "output_index": 2, "item": {"type": "function_call", "call_id": "a", "name": "weather", "arguments": ""}}),
            json!({"type": "response.output_item.added", "output_index": 3, "item": {"type": "function_call", "call_id": "b", "name": "time", "arguments": ""}}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"city\":"}),
            json!({"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"city\":\"Köln\"}"}),
            json!({"type": "response.something_new", "sequence_number": 9}),
            json!({"type": "response.completed", "response": {"id": "r", "model": "x", "status": "completed", "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 80}, "output_tokens": 30}}}),
        ]),
        Format::Chat => {
            let mut bytes = sse(&[
                json!({"id": "c", "model": "x", "choices": [{"delta": {"role": "assistant", "reasoning_content": "let me "}}]}),
                json!({"choices": [{"delta": {"reasoning_content": "see"}}]}),
                json!({"choices": [{"delta": {"content": "Grüße, "}}]}),
                json!({"choices": [{"delta": {"content": "世界"}}]}),
                json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "weather", "arguments": ""}}]}}]}),
                json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\":"}}]}}]}),
                json!({"choices": [{"delta": {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "time", "arguments": "{}"}}, {"index": 0, "function": {"arguments": "\"Köln\"}"}}]}}]}),
                json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 80}, "completion_tokens": 30}}),
            ]);
            bytes.extend_from_slice(b"data: [DONE]\n\n");
            bytes
        }
        Format::Gemini => sse(&[
            json!({"responseId": "g", "modelVersion": "x", "candidates": [{"content": {"parts": [{"text": "let me ", "thought": true}]}}]}),
            json!({"candidates": [{"content": {"parts": [{"text": "see", "thought": true}, {"text": "Grüße, "}]}}]}),
            json!({"candidates": [{"content": {"parts": [{"text": "世界"}]}}]}),
            json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "weather", "args": {"city": "Köln"}}, "thoughtSignature": "c2ln"}, {"functionCall": {"name": "time"}}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 25, "thoughtsTokenCount": 5}}),
        ]),
        Format::Ollama => lines(&[
            json!({"model": "x", "message": {"role": "assistant", "thinking": "let me "}, "done": false}),
            json!({"model": "x", "message": {"thinking": "see"}, "done": false}),
            json!({"model": "x", "message": {"content": "Grüße, "}, "done": false}),
            json!({"model": "x", "message": {"content": "世界"}, "done": false}),
            json!({"model": "x", "message": {"content": "", "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Köln"}}}, {"function": {"name": "time", "arguments": {}}}]}, "done": false}),
            json!({"model": "x", "message": {"content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 20, "eval_count": 30}),
        ]),
    }
}

fn expected(format: Format) -> Told {
    Told {
        items: vec![
            "reasoning let me see".to_owned(),
            "text Grüße, 世界".to_owned(),
            format!(
                "call weather {:?}",
                Arguments::Json(json!({"city": "Köln"}))
            ),
            format!("call time {:?}", Arguments::Json(json!({}))),
        ],
        stop: Stop::Tool,
        input: Some(20),
        // Ollama says nothing of it, which is not 0.
        cached: (format != Format::Ollama).then_some(80),
        output: Some(30),
    }
}

fn read<'a>(format: Format, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Answer, Vec<Piece>) {
    let mut reader = Reader::new(format);
    let mut all = Vec::new();
    for piece in pieces {
        all.extend(reader.feed(piece).unwrap());
    }
    (reader.finish(), all)
}

#[test]
fn every_format_tells_the_same_story_whole_and_byte_by_byte() {
    for format in Format::ALL {
        let bytes = scenario(format);
        for size in [bytes.len(), 1, 7] {
            let (answer, pieces) = read(format, bytes.chunks(size));
            assert_eq!(told(&answer), expected(format), "{format:?} by {size}");
            let names: Vec<_> = pieces
                .iter()
                .filter_map(|piece| match piece {
                    Piece::Call { name } => Some(name.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(names, ["weather", "time"], "{format:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_answer(cuts in prop::collection::vec(1usize..40, 0..200)) {
        for format in Format::ALL {
            let bytes = scenario(format);
            let mut rest = &bytes[..];
            let mut pieces = Vec::new();
            for cut in &cuts {
                let (head, tail) = rest.split_at((*cut).min(rest.len()));
                pieces.push(head);
                rest = tail;
            }
            pieces.push(rest);
            prop_assert_eq!(told(&read(format, pieces).0), expected(format));
        }
    }

    #[test]
    fn a_stream_that_breaks_off_is_cut_and_nothing_more(at in 0.0f64..1.0) {
        for format in Format::ALL {
            let bytes = scenario(format);
            let end = (bytes.len() as f64 * at) as usize;
            let mut reader = Reader::new(format);
            let fed = reader.feed(&bytes[..end]);
            prop_assert!(fed.is_ok());
            let answer = reader.finish();
            let whole = expected(format);
            prop_assert!(answer.stop == Stop::Cut || told(&answer).items == whole.items);
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for format in Format::ALL {
            let mut reader = Reader::new(format);
            let _ = reader.feed(&bytes);
            let _ = reader.finish();
            let _ = Reader::whole(format, &bytes);
        }
    }
}

#[test]
fn an_answer_that_came_whole_says_the_same() {
    let bodies = [
        (
            Format::Anthropic,
            json!({"id": "m", "model": "x", "stop_reason": "tool_use",
            "content": [{"type": "thinking", "thinking": "let me see", "signature": "s"}, {"type": "text", "text": "Grüße, 世界"},
                {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Köln"}}, {"type": "tool_use", "id": "b", "name": "time", "input": {}}],
            "usage": {"input_tokens": 20, "cache_read_input_tokens": 80, "output_tokens": 30}}),
        ),
        (
            Format::Responses,
            json!({"id": "r", "model": "x", "status": "completed",
            "output": [{"type": "reasoning", "summary": [{"text": "let me see"}]}, {"type": "message", "content": [{"type": "output_text", "text": "Grüße, 世界"}]},
                {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{\"city\":\"Köln\"}"}, {"type": "function_call", "call_id": "b", "name": "time", "arguments": ""}],
            "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 80}, "output_tokens": 30}}),
        ),
        (
            Format::Chat,
            json!({"id": "c", "model": "x", "choices": [{"finish_reason": "tool_calls", "message": {"reasoning_content": "let me see", "content": "Grüße, 世界",
            "tool_calls": [{"id": "a", "function": {"name": "weather", "arguments": "{\"city\":\"Köln\"}"}}, {"id": "b", "function": {"name": "time", "arguments": {}}}]}}],
            "usage": {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 80}, "completion_tokens": 30}}),
        ),
    ];
    for (format, body) in bodies {
        let answer = Reader::whole(format, body.to_string().as_bytes()).unwrap();
        assert_eq!(told(&answer), expected(format), "{format:?}");
    }
}

#[test]
fn what_only_a_provider_understands_goes_back_to_it_and_to_no_other() {
    for format in [Format::Anthropic, Format::Responses, Format::Gemini] {
        let (answer, _) = read(format, [&scenario(format)[..]]);
        let conversation = Request {
            model: "x".to_owned(),
            messages: vec![Message {
                role: Role::Assistant,
                items: answer.items,
            }],
            ..Request::default()
        };
        let sign = if format == Format::Responses {
            "zzz"
        } else {
            "c2ln"
        };
        for to in Format::ALL {
            let written = to.write(&conversation).body.to_string();
            assert_eq!(
                written.contains(sign),
                to == format,
                "{format:?} to {to:?}: {written}"
            );
            assert!(written.contains("Köln"));
        }
    }
}

#[test]
fn a_request_has_everything_in_every_format() {
    let request = Request {
        model: "x".to_owned(),
        system: Some("be brief".to_owned()),
        messages: vec![
            Message {
                role: Role::User,
                items: vec![
                    Item::Text("look".to_owned()),
                    Item::Image(Image {
                        media_type: "image/png".to_owned(),
                        data: "aW1n".to_owned(),
                    }),
                ],
            },
            Message {
                role: Role::Assistant,
                items: vec![Item::Call(Call {
                    id: "a".to_owned(),
                    name: "weather".to_owned(),
                    arguments: Arguments::Json(json!({"city": "Köln"})),
                    opaque: None,
                })],
            },
            Message {
                role: Role::User,
                items: vec![Item::Result(CallResult {
                    id: "a".to_owned(),
                    name: "weather".to_owned(),
                    text: "rain".to_owned(),
                    is_error: false,
                })],
            },
        ],
        tools: vec![Tool {
            name: "weather".to_owned(),
            description: "tells the weather".to_owned(),
            parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
        }],
        max_output: Some(77),
        temperature: Some(0.5),
        schema: None,
        caching: Caching::Marked,
    };
    for format in Format::ALL {
        let written = format.write(&request);
        let body = written.body.to_string();
        for word in [
            "be brief",
            "look",
            "aW1n",
            "weather",
            "Köln",
            "rain",
            "tells the weather",
            "77",
            "0.5",
        ] {
            assert!(body.contains(word), "{format:?} without {word}: {body}");
        }
        assert!(
            written.path.contains('x') || body.contains("\"model\":\"x\""),
            "{format:?}"
        );
    }
    assert!(
        Format::Anthropic
            .write(&request)
            .body
            .to_string()
            .contains("cache_control")
    );
}

#[test]
fn an_error_in_the_middle_of_a_stream_cuts_it() {
    let streams = [
        (
            Format::Anthropic,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "too busy"}}),
        ),
        (
            Format::Responses,
            json!({"type": "response.failed", "response": {"status": "failed", "error": {"message": "too busy"}}}),
        ),
        (Format::Chat, json!({"error": {"message": "too busy"}})),
        (
            Format::Gemini,
            json!({"error": {"code": 503, "message": "too busy"}}),
        ),
    ];
    for (format, event) in streams {
        let (answer, _) = read(format, [&sse(&[event])[..]]);
        assert_eq!(
            (answer.stop, answer.error.as_deref()),
            (Stop::Cut, Some("too busy")),
            "{format:?}"
        );
        assert_eq!(answer.usage, Usage::default());
    }
    let (answer, _) = read(Format::Ollama, [&b"{\"error\":\"too busy\"}\n"[..]]);
    assert_eq!(answer.error.as_deref(), Some("too busy"));
}

#[test]
fn a_stream_without_end_is_bounded() {
    let mut reader = Reader::new(Format::Chat);
    let event = sse(&[json!({"choices": [{"delta": {"content": "x".repeat(100_000)}}]})]);
    let refused = (0..2000).find_map(|_| reader.feed(&event).err());
    assert_eq!(refused, Some(ReadError::TooLarge));
    let mut reader = Reader::new(Format::Chat);
    let refused = (0..2000).find_map(|_| reader.feed(&[b'x'; 100_000]).err());
    assert_eq!(refused, Some(ReadError::EventTooLarge));
    let mut reader = Reader::new(Format::Gemini);
    let calls = sse(&[
        json!({"candidates": [{"content": {"parts": vec![json!({"functionCall": {"name": "f"}}); 5000]}}]}),
    ]);
    assert_eq!(reader.feed(&calls), Err(ReadError::TooLarge));
}

fn failure(format: Format, status: u16, headers: &[(&'static str, &str)], body: &str) -> Failure {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    read_failure(
        format,
        StatusCode::from_u16(status).unwrap(),
        &map,
        body.as_bytes(),
        noon(),
    )
}

fn noon() -> Timestamp {
    // 2026-11-16T12:00:00Z
    Timestamp::from_micros(1_794_830_400_000_000)
}

#[test]
fn three_kinds_of_too_much_are_kept_apart() {
    use FailureKind::{ContextTooLong, Invalid, Key, NoModel, Overload, Quota, RateLimit, Server};
    for (format, status, body, expected) in [
        (
            Format::Anthropic,
            429,
            r#"{"error":{"type":"rate_limit_error","message":"slow"}}"#,
            RateLimit,
        ),
        (
            Format::Anthropic,
            529,
            r#"{"error":{"type":"overloaded_error","message":"busy"}}"#,
            Overload,
        ),
        (
            Format::Anthropic,
            400,
            r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
            Quota,
        ),
        (
            Format::Anthropic,
            400,
            r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            ContextTooLong,
        ),
        (
            Format::Anthropic,
            400,
            r#"{"error":{"type":"invalid_request_error","message":"messages: field required"}}"#,
            Invalid,
        ),
        (
            Format::Anthropic,
            401,
            r#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            Key,
        ),
        (
            Format::Responses,
            429,
            r#"{"error":{"type":"usage_limit_reached","message":"limit","resets_at":1794834000}}"#,
            Quota,
        ),
        (
            Format::Chat,
            429,
            r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
            Quota,
        ),
        (
            Format::Chat,
            429,
            r#"{"error":{"code":"rate_limit_exceeded","message":"slow"}}"#,
            RateLimit,
        ),
        (
            Format::Chat,
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"long"}}"#,
            ContextTooLong,
        ),
        (
            Format::Chat,
            404,
            r#"{"error":{"code":"model_not_found","message":"no"}}"#,
            NoModel,
        ),
        (
            Format::Chat,
            503,
            r#"{"error":{"type":"server_is_overloaded","message":"busy"}}"#,
            Overload,
        ),
        (Format::Chat, 500, "<html>oops</html>", Server),
        (
            Format::Gemini,
            429,
            r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinute"}]},{"retryDelay":"31s"}]}}]"#,
            RateLimit,
        ),
        (
            Format::Gemini,
            429,
            r#"{"error":{"status":"RESOURCE_EXHAUSTED","message":"gone","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}"#,
            Quota,
        ),
        (
            Format::Gemini,
            400,
            r#"{"error":{"status":"INVALID_ARGUMENT","message":"API key not valid. Please pass a valid API key."}}"#,
            Key,
        ),
        (
            Format::Gemini,
            503,
            r#"{"error":{"status":"UNAVAILABLE","message":"busy"}}"#,
            Overload,
        ),
        (
            Format::Ollama,
            404,
            r#"{"error":"model 'x' not found"}"#,
            NoModel,
        ),
    ] {
        let read = failure(format, status, &[], body);
        assert_eq!(read.kind, expected, "{body}");
        assert!(!read.message.is_empty());
    }
}

#[test]
fn a_wait_is_read_from_every_sign() {
    let wait = |headers: &[(&'static str, &str)], body: &str| {
        failure(Format::Chat, 429, headers, body).retry_after
    };
    let secs = |secs: f64| Some(Duration::from_secs_f64(secs));
    assert_eq!(wait(&[("retry-after", "7")], ""), secs(7.0));
    assert_eq!(
        wait(&[("retry-after-ms", "1500"), ("retry-after", "9")], ""),
        secs(1.5)
    );
    assert_eq!(
        wait(&[("retry-after", "Mon, 16 Nov 2026 12:01:00 GMT")], ""),
        secs(60.0)
    );
    assert_eq!(
        wait(&[("retry-after", "Mon, 16 Nov 2026 11:00:00 GMT")], ""),
        secs(0.0)
    );
    assert_eq!(
        wait(
            &[
                ("x-ratelimit-reset-tokens", "6m0s"),
                ("x-ratelimit-remaining-tokens", "0")
            ],
            ""
        ),
        secs(360.0)
    );
    assert_eq!(
        wait(
            &[
                ("x-ratelimit-reset-tokens", "6m0s"),
                ("x-ratelimit-remaining-tokens", "5")
            ],
            ""
        ),
        None
    );
    assert_eq!(
        wait(&[], r#"{"error":{"details":[{"retryDelay":"31.5s"}]}}"#),
        secs(31.5)
    );
    for nonsense in ["", "-5", "soon", "1e300", "nan", "inf"] {
        assert_eq!(wait(&[("retry-after", nonsense)], ""), None, "{nonsense}");
    }
    let quota = failure(
        Format::Responses,
        429,
        &[],
        r#"{"error":{"type":"usage_limit_reached","resets_at":1794834000}}"#,
    );
    assert_eq!(
        quota.resets_at,
        Some(noon().plus(Duration::from_secs(3600)))
    );
    let far = failure(
        Format::Responses,
        429,
        &[],
        r#"{"error":{"type":"usage_limit_reached","resets_at":99999999999}}"#,
    );
    assert_eq!(far.resets_at, None, "nobody waits for centuries");
}
