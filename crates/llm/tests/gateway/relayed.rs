//! What becomes of agents whose requests are refused because something is used up.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use missiond_core::{CliEngine, Clock, ExecutionId, SlotId, SystemClock};
use missiond_llm::{Activity, AgentOfToken, Face, Incoming, Refused, Relayed, Watch};
use missiond_net::http::{Bytes, HeaderMap, Method, header};
use missiond_store::executions::{self, ExecutionRow};
use missiond_store::llm::{self, Refusal};
use missiond_store::token_usage::end_of_day;

use crate::room::{Room, good, http, room, room_in, serve};

#[derive(Debug)]
struct Nobody;

impl Watch for Nobody {
    fn saw(&self, _: ExecutionId, _: Activity) {}
}

/// A run of an agent that reaches its model through the daemon.
pub(crate) struct Agent {
    execution: ExecutionId,
    token: AgentOfToken,
}

impl Agent {
    pub(crate) async fn begin(room: &Room) -> Self {
        let row = ExecutionRow {
            id: ExecutionId::generate(),
            slot: SlotId::generate(),
            engine: CliEngine::Codex,
            cwd: room.folder.path().to_owned(),
            conversation: None,
            transcript: None,
            started_at: SystemClock.now(),
            ended_at: None,
            ended_as: None,
        };
        let execution = row.id;
        room.db
            .write(move |tx| Box::pin(async move { executions::begin(tx, &row).await }))
            .await
            .unwrap();
        room.llm.serve_at(([127, 0, 0, 1], 1).into());
        let access = room.llm.grant(execution).await.unwrap();
        let mut headers = HeaderMap::new();
        let shown = format!("Bearer {}", access.token).parse().unwrap();
        headers.insert(header::AUTHORIZATION, shown);
        let token = room.llm.admit(Face::OpenAi, &headers).await.unwrap();
        Self { execution, token }
    }

    pub(crate) async fn ask(&self, room: &Room) -> Result<Relayed, Refused> {
        let incoming = Incoming {
            face: Face::OpenAi,
            method: Method::POST,
            path: "/v1/chat/completions".to_owned(),
            query: None,
            headers: HeaderMap::new(),
            body: Bytes::from_static(
                br#"{"model":"m","max_tokens":100,"tools":[{}],"stream":true}"#,
            ),
        };
        room.llm.relay(self.token, incoming, Arc::new(Nobody)).await
    }

    pub(crate) async fn refusals(&self, room: &Room) -> Vec<Refusal> {
        let all = room.db.read(|tx| Box::pin(llm::refusals(tx))).await;
        let mut all = all.unwrap();
        all.retain(|refusal| refusal.execution == self.execution);
        all
    }
}

/// What the agent's CLI shows of a refusal.
pub(crate) fn sentence(refused: &Refused) -> String {
    let message = refused.body["error"]["message"].as_str();
    message.unwrap().to_owned()
}

async fn read_to_end(mut relayed: Relayed) {
    while let Some(chunk) = relayed.body.chunk().await {
        chunk.unwrap();
    }
}

#[tokio::test]
async fn a_quota_that_is_spent_is_told_to_whoever_gives_work_until_there_is_more() {
    let resets = SystemClock.now().plus(Duration::from_secs(900)).as_micros() / 1_000_000;
    let spent = format!(
        "{{\"error\":{{\"type\":\"usage_limit_reached\",\"message\":\"the month\",\"resets_at\":{resets}}}}}"
    );
    let server = serve(vec![http(429, "", &spent), good()]);
    let first = room("", &[("p", &server.url)]).await;
    let agent = Agent::begin(&first).await;
    let relayed = agent.ask(&first).await.unwrap();
    assert_eq!(relayed.status.as_u16(), 429, "the provider's own words");
    let refusal = agent.refusals(&first).await.remove(0);
    assert_eq!(refusal.reason, "p: the month");
    let until = refusal.until.unwrap();
    assert_eq!(until.as_micros() / 1_000_000, resets);

    // The next one is not sent, also by the next daemon, and says the same.
    let second = room_in(first.folder, "", &[("p", &server.url)]).await;
    let refused = agent.ask(&second).await.unwrap_err();
    assert_eq!(refused.status.as_u16(), 429);
    assert!(refused.retry_after.unwrap() > 800);
    assert_eq!(server.asked.load(Ordering::SeqCst), 1);
    assert_eq!(agent.refusals(&second).await[0].until, Some(until));

    assert!(second.llm.unpark("p").await.unwrap());
    read_to_end(agent.ask(&second).await.unwrap()).await;
    let forgotten = async {
        while !agent.refusals(&second).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let forgotten = tokio::time::timeout(Duration::from_secs(30), forgotten).await;
    forgotten.expect("an answer ends the refusal");
}

#[tokio::test]
async fn a_budget_of_the_day_fills_by_itself_and_one_of_a_run_does_not() {
    let server = serve(vec![good()]);
    for (budget, fills) in [("day_usd", true), ("execution_usd", false)] {
        let room = room(&format!("{budget} = 0.0001"), &[("p", &server.url)]).await;
        let agent = Agent::begin(&room).await;
        let refused = agent.ask(&room).await.unwrap_err();
        assert_eq!(
            refused.status.as_u16(),
            400,
            "no client tries again after that"
        );
        let said = sentence(&refused);
        assert!(said.contains(&format!("`llm.{budget}`")), "{said}");
        assert_eq!(said.contains("it is filled again at"), fills, "{said}");
        let refusal = agent.refusals(&room).await.remove(0);
        let evening = end_of_day(refusal.refused_at);
        assert_eq!(refusal.until, fills.then_some(evening));
        assert_eq!(refusal.reason, said);
    }
    assert_eq!(server.asked.load(Ordering::SeqCst), 0);
}
