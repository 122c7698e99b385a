//! Conversations with whatever model the router chooses, kept.

use std::time::Duration;

use missiond_store::StoreError;
use missiond_store::llm::{self, ChatMessage, ChatSession};

use crate::Llm;
use crate::ask::{Answered, Ask};
use crate::error::LlmError;
use crate::gate::Class;
use crate::items::{Item, Message, Piece, Request, Role};
use crate::ledger::Asker;
use crate::router::{ModelName, Need, Route, Tier};

/// So many of the last messages go with a question.
const REMEMBERED: u32 = 100;

const WITHIN: Duration = Duration::from_secs(600);

/// A title is the beginning of the first question.
const TITLE: usize = 80;

/// What is said in a conversation.
#[derive(Debug, Clone)]
pub struct Said {
    /// A new conversation when left out.
    pub session: Option<String>,
    pub text: String,
    pub tier: Option<Tier>,
    /// This model and no other.
    pub model: Option<ModelName>,
    pub max_output: Option<u32>,
    pub asker: Asker,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Reply {
    pub session: String,
    pub route: Route,
    pub answered: Answered,
}

impl Llm {
    /// Says something and waits for the answer. Both are kept when it is there.
    pub async fn chat(
        &self,
        said: Said,
        pieces: &mut (dyn FnMut(&Piece) + Send),
    ) -> Result<Reply, LlmError> {
        let now = self.clock.now();
        let (session, earlier) = match &said.session {
            None => {
                let title = said.text.chars().take(TITLE).collect();
                let id = format!("chat_{}", uuid::Uuid::now_v7().simple());
                let session = ChatSession {
                    id,
                    title,
                    started_at: now,
                    used_at: now,
                };
                (session, Vec::new())
            }
            Some(id) => self.session(id).await?,
        };
        let mut messages: Vec<Message> = earlier.iter().map(message).collect();
        messages.push(text(Role::User, &said.text));
        let bytes = earlier.iter().map(|one| one.content.len()).sum::<usize>() + said.text.len();
        let need = Need {
            tier: said.tier,
            bytes,
            ..Need::default()
        };
        let route = match said.model {
            Some(model) => Route {
                tier: said.tier.unwrap_or(Tier::Default),
                because: format!("{model} was chosen"),
                models: vec![model],
            },
            None => self.route(&need).await?,
        };
        let ask = Ask {
            request: Request {
                messages,
                max_output: said.max_output,
                ..Request::default()
            },
            models: route.models.clone(),
            class: Class::Person,
            asker: said.asker,
            within: WITHIN,
        };
        let answered = self.ask(&ask, pieces).await?;
        let kept = [
            ChatMessage {
                role: "user".to_owned(),
                content: said.text,
                request: None,
                at: now,
            },
            ChatMessage {
                role: "assistant".to_owned(),
                content: answered.answer.text(),
                request: Some(answered.id.clone()),
                at: self.clock.now(),
            },
        ];
        let used = ChatSession {
            used_at: self.clock.now(),
            ..session.clone()
        };
        self.ledger
            .db
            .write(move |tx| Box::pin(async move { llm::add_messages(tx, &used, &kept).await }))
            .await?;
        Ok(Reply {
            session: session.id,
            route,
            answered,
        })
    }

    /// A kept conversation with its last messages.
    pub async fn session(&self, id: &str) -> Result<(ChatSession, Vec<ChatMessage>), LlmError> {
        let wanted = id.to_owned();
        let found = self.ledger.db.read(move |tx| {
            Box::pin(async move {
                let session = llm::chat_session(tx, &wanted).await?;
                let messages = llm::chat_messages(tx, &wanted, REMEMBERED).await?;
                Ok(session.map(|session| (session, messages)))
            })
        });
        found
            .await?
            .ok_or_else(|| LlmError::NoSession(id.to_owned()))
    }

    /// Kept conversations, the one used last first.
    pub async fn sessions(&self, limit: u32) -> Result<Vec<ChatSession>, StoreError> {
        self.ledger
            .db
            .read(move |tx| Box::pin(llm::chat_sessions(tx, limit)))
            .await
    }
}

fn message(kept: &ChatMessage) -> Message {
    let role = match kept.role.as_str() {
        "assistant" => Role::Assistant,
        _ => Role::User,
    };
    text(role, &kept.content)
}

fn text(role: Role, text: &str) -> Message {
    Message {
        role,
        items: vec![Item::Text(text.to_owned())],
    }
}
