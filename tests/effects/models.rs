//! Models: an agent looks at what there is and what it cost, a person asks them.

use missiond_model_server::Reply;
use serde_json::json;

use crate::commander::Agent;
use crate::models::{Room, room};

#[test]
fn models_are_looked_at_by_an_agent_and_asked_by_a_person() {
    let Room { home, model } = room("");
    let mut agent = Agent::start(&home, &["--toolset", "models"]);
    let page = agent.done("llm_models", json!({}));
    assert_eq!(page["tiers"][0]["models"], json!(["near/small"]));

    model.reply(Reply::new().text("ready"));
    let tested = agent.left_to(&home, "llm_test", &json!({ "model": "near/small" }));
    assert_eq!(tested["said"], "ready");
    model.reply(Reply::new().text("For a while."));
    let asked = json!({ "message": "what is a lease?" });
    let said = agent.left_to(&home, "router_chat", &asked);
    assert_eq!(said["reply"], "For a while.");
    let listed = agent.left_to(&home, "router_chat_list", &json!({}));
    let session = listed["sessions"][0]["session"].clone();
    assert_eq!(session, said["session"]);
    let shown = agent.left_to(&home, "router_chat_show", &json!({ "session": session }));
    assert_eq!(shown["messages"].as_array().unwrap().len(), 2);

    let trace = agent.left_to(&home, "llm_trace", &json!({}));
    assert_eq!(trace["requests"].as_array().unwrap().len(), 2);
    let used = agent.done("llm_usage", json!({}));
    assert_eq!(used["models"][0]["requests"], 2, "{used}");
    assert_eq!(home.call("llm_usage", &json!({})), used);
}
