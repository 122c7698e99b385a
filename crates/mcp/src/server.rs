//! The protocol of a server with tools, resources and prompts, over any
//! transport. A request becomes [`Work`], which the transport runs beside others
//! and drops when it is cancelled. Nothing is remembered between messages but what
//! a client of the older era subscribed to on its connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use missiond_api::{Incoming, Notification, Request, RequestId, Response};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use crate::changes::{NotificationFilter, Subscriptions};
use crate::offer::{Offer, Outlet, Progress, Refusal, ToolRequest, notification};
use crate::protocol::{
    CAPABILITIES_KEY, Era, INVALID_PARAMS, INVALID_REQUEST, LEGACY, METHOD_NOT_FOUND, MODERN,
    SERVER_KEY, SUBSCRIPTION_KEY, UNSUPPORTED_VERSION, era, excerpt, failure,
};

/// The method that calls a tool.
const CALL: &str = "tools/call";
/// Entries of a list in one answer.
const PAGE: usize = 100;

/// The protocol over one offer.
#[derive(Clone)]
pub struct Server {
    offer: Arc<dyn Offer>,
    subscriptions: Subscriptions,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// How a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// On a stream of lines that is open both ways.
    Line,
    /// As one request of HTTP. Nothing can be told unasked.
    Http,
}

/// What a message asks of the transport.
#[derive(Debug)]
pub enum Dispatch {
    Nothing,
    /// Send this.
    Reply(Reply),
    /// Run this beside everything else.
    Work(Work),
    /// Drop the work of this request, if it is under way.
    Cancel(RequestId),
    /// The older handshake is over: changes may be told from now on.
    Initialized,
}

/// One answer, and the code of the error if it is one.
#[derive(Debug)]
pub struct Reply {
    pub line: Vec<u8>,
    pub fault: Option<i32>,
}

/// A request under way.
pub struct Work {
    pub id: RequestId,
    pub lifetime: RequestLifetime,
    pub answer: BoxFuture<'static, Reply>,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work")
            .field("id", &self.id)
            .field("lifetime", &self.lifetime)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestLifetime {
    /// One answer, and nothing before it.
    UntilAnswered,
    /// Notifications may come before the answer.
    WithNotices,
    /// Until it is cancelled.
    UntilCancelled,
}

impl Server {
    #[must_use]
    pub fn new(offer: Arc<dyn Offer>) -> Self {
        Self {
            offer,
            subscriptions: Subscriptions::default(),
        }
    }

    /// Takes one message. Notifications that belong to it go to `outlet`.
    pub fn handle_message(&self, message: &[u8], arrival: Arrival, outlet: &Outlet) -> Dispatch {
        match self.read(message, arrival, outlet) {
            Ok(request) => request.route(),
            Err(dispatch) => dispatch,
        }
    }

    /// The request a message is, or what else it asks of the transport.
    pub(crate) fn read(
        &self,
        message: &[u8],
        arrival: Arrival,
        outlet: &Outlet,
    ) -> Result<ServerRequest, Dispatch> {
        match Incoming::parse(message) {
            Ok(Incoming::Request(request)) => self.parse_request(request, arrival, outlet),
            Ok(Incoming::Notification(notice)) => Err(handle_notification(&notice)),
            // A server that asks nothing is owed no answer.
            Ok(Incoming::Response(_)) => Err(Dispatch::Nothing),
            Err(error) => {
                let answer = refused(None, INVALID_REQUEST, &error.message, None);
                Err(Dispatch::Reply(answer))
            }
        }
    }

    /// Tells a client of the older era what has changed, until it is dropped.
    pub fn announce(&self, outlet: Outlet) -> BoxFuture<'static, ()> {
        let mut changes = self.offer.changes();
        let subscriptions = self.subscriptions.clone();
        Box::pin(async move {
            loop {
                let notices = match changes.recv().await {
                    Ok(change) => subscriptions.filter().notice(&change).into_iter().collect(),
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        subscriptions.filter().all_notices()
                    }
                    Err(broadcast::error::RecvError::Closed) => return,
                };
                for (method, params) in notices {
                    if outlet.send(notification(method, &params)).await.is_err() {
                        return;
                    }
                }
            }
        })
    }

    fn parse_request(
        &self,
        request: Request,
        arrival: Arrival,
        outlet: &Outlet,
    ) -> Result<ServerRequest, Dispatch> {
        let Request { id, method, params } = request;
        let refuse =
            |code, message: &str| Err(Dispatch::Reply(refused(Some(&id), code, message, None)));
        let text = params.as_deref().map_or("{}", RawValue::get);
        if !text.starts_with('{') {
            return refuse(INVALID_PARAMS, "`params` must be an object");
        }
        let parsed = match method.as_str() {
            CALL => without_arguments(text),
            _ => serde_json::from_str(text).map(|params| (params, None)),
        };
        let (params, arguments) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => return refuse(INVALID_PARAMS, &error.to_string()),
        };
        let era = match era(&params) {
            Ok(era) => era,
            Err(asked) => {
                let detail = json!({ "supported": [MODERN], "requested": asked });
                let message = format!("protocol version {asked} is not supported");
                let code = UNSUPPORTED_VERSION;
                return Err(Dispatch::Reply(refused(
                    Some(&id),
                    code,
                    &message,
                    Some(detail),
                )));
            }
        };
        if era == Era::Modern && !params["_meta"][CAPABILITIES_KEY].is_object() {
            let message = format!("`_meta` must have `{CAPABILITIES_KEY}`, an object");
            return refuse(INVALID_PARAMS, &message);
        }
        Ok(ServerRequest {
            id,
            method,
            era,
            arrival,
            params,
            arguments,
            outlet: outlet.clone(),
            offer: Arc::clone(&self.offer),
            subscriptions: self.subscriptions.clone(),
        })
    }
}

/// The parameters of a call, and apart from them the arguments as they were
/// written: whoever has the tool reads them into a type of its own, once.
fn without_arguments(params: &str) -> serde_json::Result<(Value, Option<Box<RawValue>>)> {
    let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(params)?;
    let arguments = fields.remove("arguments");
    let mut rest = Map::new();
    for (name, value) in fields {
        rest.insert(name, serde_json::from_str(value.get())?);
    }
    Ok((Value::Object(rest), arguments))
}

/// A request with all that is needed to answer it.
pub(crate) struct ServerRequest {
    id: RequestId,
    method: String,
    era: Era,
    arrival: Arrival,
    params: Value,
    /// What a tool is called with, which is not in the parameters then.
    arguments: Option<Box<RawValue>>,
    outlet: Outlet,
    offer: Arc<dyn Offer>,
    subscriptions: Subscriptions,
}

impl std::fmt::Debug for ServerRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerRequest")
            .field("id", &self.id)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

impl ServerRequest {
    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn route(self) -> Dispatch {
        let features = self.offer.features();
        match (self.method.as_str(), self.era) {
            ("initialize", Era::Legacy) => Dispatch::Reply(self.initialize()),
            ("ping", Era::Legacy) => Dispatch::Reply(self.done(&json!({}))),
            ("server/discover", _) => Dispatch::Reply(self.discover()),
            ("tools/list", _) => self.work(RequestLifetime::UntilAnswered, Self::list_tools),
            (CALL, _) => {
                let lifetime = match self.params["_meta"]["progressToken"] {
                    Value::Null => RequestLifetime::UntilAnswered,
                    _ => RequestLifetime::WithNotices,
                };
                self.work(lifetime, Self::call)
            }
            ("resources/list", _) if features.resources => {
                self.work(RequestLifetime::UntilAnswered, Self::list_resources)
            }
            ("resources/templates/list", _) if features.resources => {
                let templates = self.offer.templates();
                Dispatch::Reply(self.page("resourceTemplates", &templates))
            }
            ("resources/read", _) if features.resources => {
                self.work(RequestLifetime::UntilAnswered, Self::read)
            }
            ("resources/subscribe", Era::Legacy) if self.may_subscribe() => {
                Dispatch::Reply(self.subscribe())
            }
            ("resources/unsubscribe", Era::Legacy) if self.may_subscribe() => {
                Dispatch::Reply(self.unsubscribe())
            }
            ("prompts/list", _) if features.prompts => {
                let prompts = self.offer.prompts();
                Dispatch::Reply(self.page("prompts", &prompts))
            }
            ("prompts/get", _) if features.prompts => {
                self.work(RequestLifetime::UntilAnswered, Self::prompt)
            }
            ("subscriptions/listen", Era::Modern) if features.changing_lists => {
                self.work(RequestLifetime::UntilCancelled, Self::listen)
            }
            _ => {
                let message = format!("there is no method `{}`", excerpt(&self.method));
                Dispatch::Reply(refused(Some(&self.id), METHOD_NOT_FOUND, &message, None))
            }
        }
    }

    fn work<F>(self, lifetime: RequestLifetime, run: impl FnOnce(Self) -> F) -> Dispatch
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let id = self.id.clone();
        Dispatch::Work(Work {
            id,
            lifetime,
            answer: Box::pin(run(self)),
        })
    }

    fn initialize(&self) -> Reply {
        let asked = self.params["protocolVersion"].as_str();
        let version = asked
            .filter(|asked| LEGACY.contains(asked))
            .unwrap_or(LEGACY[0]);
        let identity = self.offer.identity();
        self.done(&json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(),
            "serverInfo": { "name": identity.name, "version": identity.version },
            "instructions": identity.instructions,
        }))
    }

    fn discover(&self) -> Reply {
        let identity = self.offer.identity();
        let info = json!({ "name": identity.name, "version": identity.version });
        self.done(&json!({
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": self.capabilities(),
            "serverInfo": info,
            "instructions": identity.instructions,
            "ttlMs": self.lists_last_ms(),
            "cacheScope": "private",
            "_meta": { SERVER_KEY: info },
        }))
    }

    /// Changes are told where there is a way to tell them.
    fn capabilities(&self) -> Value {
        let features = self.offer.features();
        let modern = self.era == Era::Modern;
        let changes = features.changing_lists && (modern || self.arrival == Arrival::Line);
        let mut capabilities = json!({ "tools": { "listChanged": changes } });
        if features.resources {
            let subscribe = self.may_subscribe();
            capabilities["resources"] = json!({ "listChanged": changes, "subscribe": subscribe });
        }
        if features.prompts {
            capabilities["prompts"] = json!({ "listChanged": changes });
        }
        capabilities
    }

    /// The older era tells of changes unasked, so it needs a stream to do it on.
    fn may_subscribe(&self) -> bool {
        let can_be_notified = self.era == Era::Modern || self.arrival == Arrival::Line;
        can_be_notified && self.offer.features().changing_resources
    }

    fn subscribe(&self) -> Reply {
        match self.params["uri"].as_str() {
            None => self.refuse(Refusal::invalid("`uri` must say which resource to watch")),
            Some(uri) => match self.subscriptions.add(uri) {
                Ok(()) => self.done(&json!({})),
                Err(refusal) => self.refuse(refusal),
            },
        }
    }

    fn unsubscribe(&self) -> Reply {
        if let Some(uri) = self.params["uri"].as_str() {
            self.subscriptions.remove(uri);
        }
        self.done(&json!({}))
    }

    async fn list_tools(self) -> Reply {
        match self.offer.tools().await {
            Ok(tools) => self.page("tools", &tools),
            Err(refusal) => self.refuse(refusal),
        }
    }

    async fn list_resources(self) -> Reply {
        match self.offer.resources().await {
            Ok(resources) => self.page("resources", &resources),
            Err(refusal) => self.refuse(refusal),
        }
    }

    async fn call(mut self) -> Reply {
        let outcome = match self.tool_request() {
            Ok(call) => self.offer.call(call).await,
            Err(refusal) => Err(refusal),
        };
        match outcome {
            Ok(result) => self.complete(result),
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// The call that a `tools/call` asks for.
    pub(crate) fn tool_request(&mut self) -> Result<ToolRequest, Refusal> {
        let name = self.params["name"].as_str().map(str::to_owned);
        let name = name.ok_or_else(|| Refusal::invalid("`name` must say which tool to call"))?;
        let arguments = self.arguments.take();
        let arguments = arguments.filter(|arguments| arguments.get() != "null");
        if arguments
            .as_ref()
            .is_some_and(|arguments| !arguments.get().starts_with('{'))
        {
            return Err(Refusal::invalid("`arguments` must be an object"));
        }
        let meta = &mut self.params["_meta"];
        Ok(ToolRequest {
            name,
            arguments,
            progress: Progress::to(&meta["progressToken"], &self.outlet),
            client_capabilities: meta[CAPABILITIES_KEY].take(),
        })
    }

    async fn read(self) -> Reply {
        let Some(uri) = self.params["uri"].as_str().map(str::to_owned) else {
            return self.refuse(Refusal::invalid("`uri` must say which resource to read"));
        };
        match self.offer.read(uri.clone()).await {
            // It is what it was at this moment.
            Ok(Some(contents)) => self.cached(json!({ "contents": contents }), 0),
            Ok(None) => {
                let message = format!("there is no resource `{}`", excerpt(&uri));
                let code = match self.era {
                    Era::Modern => INVALID_PARAMS,
                    Era::Legacy => -32002,
                };
                self.refuse(Refusal {
                    code,
                    message,
                    data: Some(json!({ "uri": uri })),
                })
            }
            Err(refusal) => self.refuse(refusal),
        }
    }

    async fn prompt(mut self) -> Reply {
        let Some(name) = self.params["name"].as_str().map(str::to_owned) else {
            return self.refuse(Refusal::invalid("`name` must say which prompt to get"));
        };
        let arguments = match self.params["arguments"].take() {
            Value::Null => Map::new(),
            Value::Object(arguments) => arguments,
            _ => return self.refuse(Refusal::invalid("`arguments` must be an object")),
        };
        match self.offer.prompt(name, arguments).await {
            Ok(result) => self.complete(result),
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Tells what was asked for as it changes. Listening begins before the
    /// client is told that it has begun, so nothing falls in between.
    async fn listen(self) -> Reply {
        let mut changes = self.offer.changes();
        let filter = NotificationFilter::of(
            &self.params["notifications"],
            self.offer.features().changing_resources,
        );
        let meta = json!({ SUBSCRIPTION_KEY: self.id });
        let granted = json!({ "_meta": meta, "notifications": filter.granted() });
        let line = notification("notifications/subscriptions/acknowledged", &granted);
        let mut is_open = self.outlet.send(line).await.is_ok();
        while is_open {
            let notices = match changes.recv().await {
                Ok(change) => filter.notice(&change).into_iter().collect(),
                // What was missed is not known: everything may have changed.
                Err(broadcast::error::RecvError::Lagged(_)) => filter.all_notices(),
                Err(broadcast::error::RecvError::Closed) => break,
            };
            for (method, mut params) in notices {
                params["_meta"] = meta.clone();
                is_open = self
                    .outlet
                    .send(notification(method, &params))
                    .await
                    .is_ok();
            }
        }
        self.done(&json!({ "resultType": "complete", "_meta": meta }))
    }

    /// One page of a list, from where the cursor says.
    fn page(&self, key: &str, entries: &[Value]) -> Reply {
        let begin = match &self.params["cursor"] {
            Value::Null => 0,
            cursor => match cursor.as_str().and_then(|cursor| cursor.parse().ok()) {
                Some(begin) if begin <= entries.len() => begin,
                _ => return self.refuse(Refusal::invalid("this `cursor` is not one of ours")),
            },
        };
        let end = entries.len().min(begin.saturating_add(PAGE));
        let mut result = json!({ key: &entries[begin..end] });
        if end < entries.len() {
            result["nextCursor"] = json!(end.to_string());
        }
        self.cached(result, self.lists_last_ms())
    }

    /// A result that the newer era wants to know the age of.
    fn cached(&self, mut result: Value, ttl_ms: u64) -> Reply {
        if self.era == Era::Modern {
            result["ttlMs"] = json!(ttl_ms);
            result["cacheScope"] = json!("private");
        }
        self.complete(result)
    }

    fn lists_last_ms(&self) -> u64 {
        u64::try_from(self.offer.lists_last().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn complete(&self, mut result: Value) -> Reply {
        if self.era == Era::Modern && result["resultType"].is_null() {
            result["resultType"] = json!("complete");
        }
        self.done(&result)
    }

    fn done(&self, result: &Value) -> Reply {
        Reply {
            line: Response::result_line(&self.id, result),
            fault: None,
        }
    }

    pub(crate) fn refuse(&self, refusal: Refusal) -> Reply {
        refused(Some(&self.id), refusal.code, &refusal.message, refusal.data)
    }
}

pub(crate) fn refused(
    id: Option<&RequestId>,
    code: i32,
    message: &str,
    data: Option<Value>,
) -> Reply {
    Reply {
        line: failure(id, code, message, data),
        fault: Some(code),
    }
}

fn handle_notification(notice: &Notification) -> Dispatch {
    match notice.method.as_str() {
        "notifications/initialized" => Dispatch::Initialized,
        "notifications/cancelled" => {
            let params: Value = notice
                .params
                .as_deref()
                .and_then(|params| serde_json::from_str(params.get()).ok())
                .unwrap_or_default();
            match serde_json::from_value(params["requestId"].clone()) {
                Ok(id) => Dispatch::Cancel(id),
                Err(_) => Dispatch::Nothing,
            }
        }
        _ => Dispatch::Nothing,
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
