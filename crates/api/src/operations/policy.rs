//! The policy: what agents may do, in files that people read and review.

use missiond_core::{BoundedOr, CliEngine, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attention::PermissionEffect;
use super::operations;

operations! {
    System;

    PolicyShow = "policy_show" (ReadOnly, "attention"):
        PolicyShowParams => PolicyPage,
        "List the rules of the policies that hold in a folder, with file, line and layer, and what is wrong with the files.";

    PolicyCheck = "policy_check" (ReadOnly, "attention"; Instant):
        PolicyCheckParams => PolicyChecked,
        "Say whether a text is a policy, and which of its rules contradict each other or can never match.";

    PolicyExplain = "policy_explain" (ReadOnly, "attention"; Instant):
        PolicyExplainParams => PolicyExplanation,
        "Say what each layer decides about a use of a tool or an address, by which rule, and what would have to change.";

    PolicySuggest = "policy_suggest" (ReadOnly, "attention"):
        PolicySuggestParams => PolicySuggestions,
        "Propose rules that would have made the answers of the last days needless; never anything dangerous.";
}

/// Bytes of a policy file that are read.
pub const MAX_POLICY: usize = 256 * 1024;

/// What a rule of a policy is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyLayer {
    /// Commands.
    Shell,
    /// Files that are read or written.
    Files,
    /// Hosts and networks.
    Network,
    /// Methods and paths of requests to a host.
    Rest,
}

impl PolicyLayer {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Files => "files",
            Self::Network => "network",
            Self::Rest => "rest",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyShowParams {
    /// The folder an agent works in; the root when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Only the rules of this layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<PolicyLayer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyPage {
    pub files: Vec<PolicyFile>,
    /// The starter policy counts as well, for everything.
    pub starter: bool,
    pub rules: Vec<PolicyRule>,
    /// Why a file as it is now is not what is in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<PolicyProblem>,
    /// Rules that contradict each other or can never match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<PolicyProblem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFile {
    /// What its rules are named after.
    pub name: String,
    pub file: String,
    /// Something that was read from it is in force.
    pub in_force: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyRule {
    /// Where it stands: `policy.toml:12`.
    pub name: String,
    pub line: u32,
    pub layer: PolicyLayer,
    pub effect: PermissionEffect,
    pub sentence: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyProblem {
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub problem: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyCheckParams {
    pub text: Text<MAX_POLICY, 0>,
    /// It is that of a repository, which can only narrow.
    #[serde(default)]
    pub repository: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyChecked {
    /// Whether it would be in force.
    pub usable: bool,
    pub rules: u32,
    pub problems: Vec<PolicyProblem>,
    /// Rules that contradict each other or can never match.
    pub warnings: Vec<PolicyProblem>,
}

/// A use of a tool as an agent would ask for it, or an address that something would reach
/// through the proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyExplainParams {
    /// The tool; `Bash` when there is an argument and no tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A command where the tool runs commands (Bash, Run, Shell), else any text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<Text<100_000, 0>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `claude` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    /// The folder the agent works in; the root when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// `https://host:port`, or `http://host/path` whose request is seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Text<4000>>,
    /// Of `url`; GET when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Text<24>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyExplanation {
    pub effect: PermissionEffect,
    /// The layer that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<PolicyLayer>,
    /// The rules that decided; none when nothing is known.
    pub rules: Vec<String>,
    pub reason: String,
    /// What would have to change for another outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// What each layer says by itself.
    pub considered: Vec<PolicyConsidered>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyConsidered {
    pub layer: PolicyLayer,
    /// The command, the file or the host.
    pub subject: String,
    pub effect: PermissionEffect,
    pub rules: Vec<String>,
    pub reason: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolicySuggestParams {
    /// From the answers of so many days.
    pub days: BoundedOr<1, 30, 7>,
    /// The folder whose policies count; the root when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySuggestions {
    pub days: u32,
    /// So many decisions were looked at.
    pub decisions: u32,
    pub suggestions: Vec<PolicySuggestion>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySuggestion {
    pub layer: PolicyLayer,
    /// What would be allowed.
    pub pattern: String,
    /// How often a person allowed it.
    pub times: u32,
    pub examples: Vec<String>,
    /// The lines for `policy.toml`.
    pub toml: String,
}
