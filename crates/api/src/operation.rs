//! What an operation is.

use std::borrow::Cow;

use missiond_core::{Principal, Scope, Scopes};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::ApiError;
use crate::authority::{Authority, Decision, Own, Refusal};

/// Which part of the system an operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    Compute,
    Knowledge,
    Communication,
    System,
}

impl Domain {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Knowledge => "knowledge",
            Self::Communication => "communication",
            Self::System => "system",
        }
    }
}

/// What calling an operation does to the world. A caller decides by this
/// whether to ask first and whether trying again is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing changes.
    ReadOnly,
    /// Something changes; doing it twice changes nothing more.
    Idempotent,
    /// Something is added each time.
    Additive,
    /// Something that cannot be brought back may be lost.
    Destructive,
}

impl Effect {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Idempotent => "idempotent",
            Self::Additive => "additive",
            Self::Destructive => "destructive",
        }
    }
}

/// What a call uses beside the message and its answer, for whoever chooses
/// between operations. A hint: how long it takes hangs on what it is called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// The daemon knows it: less than a millisecond.
    Instant,
    /// The database is read or written: milliseconds.
    Database,
    /// Other programs are started, driven or asked, or many files are read: up
    /// to seconds.
    Process,
    /// Nothing, for as long as the caller says: it waits for something to happen.
    Wait,
    /// An agent works because of it: minutes, and what its model costs.
    Agent,
}

impl Cost {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::Database => "database",
            Self::Process => "process",
            Self::Wait => "wait",
            Self::Agent => "agent",
        }
    }
}

/// One operation: its name, its types, and how they are read and written. The
/// description and the rest are in the [`OperationSpec`].
///
/// Whoever calls or serves operations goes through these functions, so that the
/// code for a type is not made again in every crate that handles it.
pub trait Operation: 'static {
    type Params: Serialize + JsonSchema + Send + 'static;
    type Result: Serialize + JsonSchema + Send + 'static;
    const SPEC: OperationSpec;

    /// The parameters of a call, or the sentence that says which of them is wrong.
    fn parse(params: &str) -> Result<Self::Params, ApiError>;

    /// A result as it goes on the wire.
    fn encode(result: &Self::Result) -> serde_json::Result<Box<RawValue>>;

    /// Parameters as they go on the wire.
    fn encode_params(params: &Self::Params) -> serde_json::Result<Box<RawValue>>;

    /// What was answered.
    fn parse_result(result: &str) -> serde_json::Result<Self::Result>;
}

#[derive(Debug, Clone, Copy)]
pub struct OperationSpec {
    pub name: &'static str,
    pub domain: Domain,
    pub effect: Effect,
    /// The group a client can ask for as a whole.
    pub toolset: &'static str,
    /// One sentence, written for a model that chooses by it.
    pub description: &'static str,
    pub authority: Authority,
    pub cost: Cost,
    params: SchemaSource,
    result: SchemaSource,
}

/// How the schema of a type is made: in full, or as a reference into the
/// generator's definitions. Two pointers to code that exists once for each type;
/// all else about schemas is not generic.
#[derive(Debug, Clone, Copy)]
struct SchemaSource {
    name: fn() -> Cow<'static, str>,
    inline: fn(&mut SchemaGenerator) -> Schema,
    reference: fn(&mut SchemaGenerator) -> Schema,
}

impl SchemaSource {
    const fn of<T: JsonSchema>() -> Self {
        Self {
            name: T::schema_name,
            inline: T::json_schema,
            reference: SchemaGenerator::subschema_for::<T>,
        }
    }

    /// The schema as a document of its own, with the definitions it refers to.
    fn document(&self) -> Schema {
        let mut generator = SchemaGenerator::default();
        let mut schema = (self.inline)(&mut generator);
        let definitions = generator.take_definitions(true);
        let dialect = generator.settings().meta_schema.clone();
        let document = schema.ensure_object();
        if let Some(dialect) = dialect {
            document.insert("$schema".to_owned(), dialect.into_owned().into());
        }
        document
            .entry("title")
            .or_insert_with(|| (self.name)().into_owned().into());
        if !definitions.is_empty() {
            document.insert("$defs".to_owned(), definitions.into());
        }
        schema
    }
}

impl OperationSpec {
    #[must_use]
    pub const fn of<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        domain: Domain,
        effect: Effect,
        toolset: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            domain,
            effect,
            toolset,
            description,
            authority: default_of(effect),
            cost: Cost::Database,
            params: SchemaSource::of::<P>(),
            result: SchemaSource::of::<R>(),
        }
    }

    #[must_use]
    pub const fn allowed_to(self, authority: Authority) -> Self {
        Self { authority, ..self }
    }

    #[must_use]
    pub const fn costing(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }

    #[must_use]
    pub fn params_schema(&self) -> Schema {
        self.params.document()
    }

    #[must_use]
    pub fn result_schema(&self) -> Schema {
        self.result.document()
    }

    /// The schemas of parameters and result, with what they share in the
    /// generator's definitions.
    pub(crate) fn schemas_in(&self, generator: &mut SchemaGenerator) -> (Schema, Schema) {
        (
            (self.params.reference)(generator),
            (self.result.reference)(generator),
        )
    }
}

impl OperationSpec {
    /// Whether this caller may call it.
    #[must_use]
    pub const fn decide(&self, principal: &Principal) -> Decision {
        match principal {
            Principal::Person | Principal::Daemon { .. } => Decision::Allowed,
            Principal::Program { scopes, .. } => self.decide_program(*scopes),
            Principal::Commander => match self.authority {
                Authority::Everyone | Authority::Agents | Authority::Own(_) => Decision::Allowed,
                Authority::Programs => Decision::Refused(Refusal::Programs),
                Authority::People => Decision::Refused(Refusal::People),
            },
            Principal::Agent { .. } => match self.authority {
                Authority::Everyone | Authority::Agents => Decision::Allowed,
                Authority::Own(own) => Decision::IfOwn(own),
                Authority::Programs => Decision::Refused(Refusal::Programs),
                Authority::People => Decision::Refused(Refusal::People),
            },
            Principal::ToolServer | Principal::Untold => match self.authority {
                Authority::Everyone => Decision::Allowed,
                Authority::People => Decision::Refused(Refusal::People),
                Authority::Agents | Authority::Own(_) | Authority::Programs => {
                    Decision::Refused(Refusal::LooksOnly)
                }
            },
        }
    }

    const fn decide_program(&self, scopes: Scopes) -> Decision {
        match self.scope() {
            None => Decision::Refused(Refusal::People),
            Some(scope) if scopes.has(scope) => Decision::Allowed,
            Some(scope) => Decision::Refused(Refusal::Scope(scope)),
        }
    }

    /// The scope a token needs for it; none when it is for people alone.
    #[must_use]
    pub const fn scope(&self) -> Option<Scope> {
        match self.authority {
            Authority::Everyone => Some(Scope::Read),
            Authority::Agents
            | Authority::Own(Own::Execution | Own::StartedExecution | Own::AddedTask | Own::Tool)
                if !self.is_of_terminals() =>
            {
                Some(Scope::Work)
            }
            Authority::Agents | Authority::Own(_) => Some(Scope::Terminals),
            Authority::Programs => Some(Scope::Manage),
            Authority::People => None,
        }
    }

    const fn is_of_terminals(&self) -> bool {
        matches!(self.toolset.as_bytes(), b"slots")
    }

    /// Whether agents are shown it as a tool.
    #[must_use]
    pub const fn is_for_agents(&self) -> bool {
        matches!(self.decide(&Principal::Commander), Decision::Allowed)
    }
}

/// What the declaration must be where none is written.
const fn default_of(effect: Effect) -> Authority {
    match effect {
        Effect::ReadOnly => Authority::Everyone,
        Effect::Idempotent | Effect::Additive | Effect::Destructive => Authority::People,
    }
}
