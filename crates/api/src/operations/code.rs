//! The code map: searching, reading and mapping what a repository defines, and
//! beacons in it.

use missiond_core::{AbsolutePath, Limit, List, SymbolKind, Text, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    Knowledge;

    CodeList = "code_list" (ReadOnly, "code"):
        NoParams => CodeListResult,
        "List the repositories the code map has read on this host.";

    CodeIndex = "code_index" (Idempotent, "code", Agents; Process):
        CodeIndexParams => CodeStatusResult,
        "Read a repository into the code map, or bring the map up to date; returns at once with \
         the progress unless told to wait.";

    CodeStatus = "code_status" (ReadOnly, "code"):
        CodeStatusParams => CodeStatusResult,
        "Say what the code map holds of a repository, how far a pass is, and which files were \
         skipped and why.";

    CodeSearch = "code_search" (ReadOnly, "code"; Process):
        CodeSearchParams => CodeSearchResult,
        "Find functions, types and files of a repository by name or in plain words, such as \
         \"where are expired leases collected\".";

    CodeShow = "code_show" (ReadOnly, "code"; Process):
        CodeShowParams => CodeShowResult,
        "Show the source of a function, type or file by name, `path:line`, `path:name` or \
         beacon.";

    CodeMap = "code_map" (ReadOnly, "code"; Process):
        CodeMapParams => CodeMapResult,
        "Draw the parts of a repository that the rest leans on most, with their signatures, \
         within a token budget.";

    BeaconSet = "beacon_set" (Idempotent, "code", Agents):
        BeaconSetParams => Beacon,
        "Set a named beacon on functions, types or files; it follows its code when that moves \
         or is renamed.";

    BeaconList = "beacon_list" (ReadOnly, "code"):
        BeaconListParams => BeaconListResult,
        "List the beacons of a repository: where the code of each is now, and which are lost.";

    BeaconRemove = "beacon_remove" (Destructive, "code", Agents):
        BeaconRemoveParams => BeaconRemoveResult,
        "Remove a beacon; its code is left alone.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeListResult {
    pub repositories: Vec<CodeRepository>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeRepository {
    pub root: String,
    /// Files that were read.
    pub files: u32,
    /// When a whole pass last ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
    /// The folder is still there.
    pub exists: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeIndexParams {
    /// A folder, absolute. The whole checkout it lies in is read; without git,
    /// the folder itself.
    pub path: AbsolutePath,
    /// Wait for the end of the pass, for as long as a request may take.
    #[serde(default)]
    pub wait: bool,
    /// Forget what is known and read everything again.
    #[serde(default)]
    pub rebuild: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeStatusParams {
    /// A folder of the repository, absolute.
    pub path: AbsolutePath,
}

/// How current an answer is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Freshness {
    /// As the files were when the question was asked.
    Current,
    /// A pass is under way; what it has not come to is as it was before.
    Updating { read: u32, to_read: u32 },
    /// The last pass failed, for this reason.
    Failed { reason: String },
    /// Nobody looked at the files for this answer.
    Unchecked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeStatusResult {
    pub root: String,
    pub freshness: Freshness,
    /// When a whole pass last ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
    pub files: u32,
    pub symbols: u32,
    pub lines: u64,
    pub languages: std::collections::BTreeMap<String, u32>,
    /// The first hundred files that were left out.
    pub skipped: Vec<SkippedFile>,
    pub skipped_count: u32,
    /// Files beyond the limit of a repository.
    pub beyond_limit: u32,
    /// What the last pass found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_pass: Option<PassReport>,
    /// Symbols whose meaning can be compared, of those whose meaning should be.
    pub embedded: u32,
    pub to_embed: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFile {
    pub path: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassReport {
    pub changed: u32,
    pub gone: u32,
    pub millis: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeSearchParams {
    /// A folder of the repository, absolute.
    pub path: AbsolutePath,
    pub query: Text<1000, 0>,
    /// Only this kind.
    #[serde(default)]
    pub kind: Option<SymbolKind>,
    /// At most so many.
    #[serde(default)]
    pub limit: Limit<50, 10>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CodeSearchResult {
    pub root: String,
    pub freshness: Freshness,
    /// Names in the query, written as code writes them, that no symbol has: what was
    /// found for them is only similar.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_names: Vec<String>,
    pub hits: Vec<CodeHit>,
    /// Beacons whose name or note has the words of the query.
    pub beacons: Vec<Beacon>,
    /// Whether meaning was compared too, and not words alone.
    pub vectors_used: bool,
    /// Why meaning was not compared, or not of every symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CodeHit {
    #[serde(flatten)]
    pub symbol: CodeSymbol,
    /// `name`, `name_in_any_case`, `words` or `meaning`.
    pub matched: String,
    /// Comparable within one answer only.
    pub score: f32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeSymbol {
    pub kind: String,
    /// With what it is defined in.
    pub name: String,
    pub path: String,
    pub first_line: u32,
    pub last_line: u32,
    pub language: String,
    pub signature: String,
    /// Its comment, without the marks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc: String,
    /// Of its text with white space evened out.
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeShowParams {
    /// A folder of the repository, absolute.
    pub path: AbsolutePath,
    /// `name`, `Type::name`, `file.rs:name`, `file.rs:12`, `file.rs`, or a beacon.
    pub symbol: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeShowResult {
    pub root: String,
    pub freshness: Freshness,
    /// Everything of that name; at most ten.
    pub found: Vec<ShownSymbol>,
    /// How many there are.
    pub count: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShownSymbol {
    #[serde(flatten)]
    pub symbol: CodeSymbol,
    /// Its text as it is on the disk now. For a file, what it defines instead.
    pub source: String,
    /// The text is longer and was cut.
    #[serde(default)]
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeMapParams {
    /// A folder of the repository, absolute.
    pub path: AbsolutePath,
    /// At most so many, estimated on the safe side.
    #[serde(default)]
    pub tokens: Limit<100_000, 2_000>,
    /// Files or folders below the root to look from: what they lean on comes first.
    #[serde(default)]
    pub focus: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeMapResult {
    pub root: String,
    pub freshness: Freshness,
    pub text: String,
    /// Of the text, estimated on the safe side.
    pub tokens: u32,
    pub files_shown: u32,
    pub files: u32,
    pub symbols_shown: u32,
    pub symbols: u32,
    /// Parts of the focus that fit no file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_focus: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeaconSetParams {
    /// A folder of the repository, absolute.
    pub path: AbsolutePath,
    /// What it is called. One of this name is replaced.
    pub name: Text<100>,
    /// What it stands for, each as for `code_show`; each must name one thing.
    pub symbols: List<String, 1, 20>,
    /// Why it is worth knowing.
    #[serde(default)]
    pub note: Text<2000, 0>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeaconListParams {
    /// A folder of the repository, absolute.
    pub path: AbsolutePath,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeaconListResult {
    pub root: String,
    pub freshness: Freshness,
    pub beacons: Vec<Beacon>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeaconRemoveParams {
    /// A folder of the repository, absolute.
    pub path: AbsolutePath,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeaconRemoveResult {
    pub removed: String,
}

/// A beacon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Beacon {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    pub pieces: Vec<BeaconPiece>,
}

/// One piece of the code a beacon stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeaconPiece {
    pub kind: String,
    pub name: String,
    pub path: String,
    pub line: u32,
    pub standing: BeaconStanding,
    /// Where it was before it was last found elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// For a lost one: where its code might be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

/// How a piece of a beacon was last found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BeaconStanding {
    /// As it was set.
    Unchanged,
    /// In its place, with another content.
    Edited,
    /// The same content in another place.
    Moved,
    /// The same content under another name.
    Renamed,
    /// Moved and changed, and still alike enough to be told.
    Alike,
    /// Not found; place and name are where it was last.
    Lost,
}
