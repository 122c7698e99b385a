//! Handlers of the code map and its beacons.

use std::sync::Arc;

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::code::{
    Beacon, BeaconList, BeaconListParams, BeaconListResult, BeaconPiece, BeaconRemove,
    BeaconRemoveParams, BeaconRemoveResult, BeaconSet, BeaconSetParams, BeaconStanding, CodeHit,
    CodeIndex, CodeIndexParams, CodeList, CodeListResult, CodeMap, CodeMapParams, CodeMapResult,
    CodeRepository, CodeSearch, CodeSearchParams, CodeSearchResult, CodeShow, CodeShowParams,
    CodeShowResult, CodeStatus, CodeStatusParams, CodeStatusResult, CodeSymbol, Freshness,
    PassReport, ShownSymbol, SkippedFile,
};
use missiond_codemap::{Anchor, CodeError, FollowOutcome, MapRequest, Match, NodeRef, read_source};
use missiond_context::estimated_tokens;
use missiond_core::{AbsolutePath, ErrorCode, SymbolKind};
use missiond_memory::code::beacons::{self, LocatedBeacon};
use missiond_memory::code::{CodeMapError, Fresh, MeaningStatus, Question, Repository, Unindexed};
use missiond_store::beacons::BeaconNodeRow;

use crate::call::{Call, Operations};
use crate::walls;

/// Skipped files a status names.
const SKIPPED: usize = 100;
/// Things of one name that are shown.
const SHOWN: usize = 10;
/// Longer sources are cut.
const LONGEST_SOURCE: usize = 40_000;
const LONGEST_NAME: usize = 100;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<CodeList, _, _>(repositories);
    operations.add::<CodeIndex, _, _>(index);
    operations.add::<CodeStatus, _, _>(status);
    operations.add::<CodeSearch, _, _>(search);
    operations.add::<CodeShow, _, _>(show);
    operations.add::<CodeMap, _, _>(map);
    operations.add::<BeaconSet, _, _>(set);
    operations.add::<BeaconList, _, _>(list);
    operations.add::<BeaconRemove, _, _>(remove);
}

async fn repositories(call: Call, _: NoParams) -> Result<CodeListResult, ApiError> {
    let known = call.daemon.code.repositories().await;
    let repositories = known.map_err(|error| of_map(&error))?;
    Ok(CodeListResult {
        repositories: repositories
            .into_iter()
            .map(|known| CodeRepository {
                root: known.root,
                files: known.files,
                checked_at: known.checked_at,
                exists: known.exists,
            })
            .collect(),
    })
}

async fn index(call: Call, params: CodeIndexParams) -> Result<CodeStatusResult, ApiError> {
    let repository = open(&call, &params.path, Unindexed::Accept).await?;
    if params.rebuild {
        repository.forget().await.map_err(|error| of_map(&error))?;
    }
    let patience = if params.wait {
        // Enough is left of the request's time to say how far it came.
        call.daemon.config().ipc.request_timeout().mul_f32(0.8)
    } else {
        std::time::Duration::ZERO
    };
    let fresh = repository.refresh(patience).await;
    let fresh = fresh.map_err(|error| of_map(&error))?;
    described(&call, &repository, Some(fresh)).await
}

async fn status(call: Call, params: CodeStatusParams) -> Result<CodeStatusResult, ApiError> {
    let repository = open(&call, &params.path, Unindexed::Refuse).await?;
    repository.load().await.map_err(|error| of_map(&error))?;
    described(&call, &repository, None).await
}

async fn search(call: Call, params: CodeSearchParams) -> Result<CodeSearchResult, ApiError> {
    let question = Question::new(&params.query);
    let limit = params.limit.to_usize();
    search_one(&call, &params.path, &question, params.kind, limit).await
}

/// Asks one repository, of several that are asked the same.
pub(super) async fn search_one(
    call: &Call,
    path: &AbsolutePath,
    question: &Question,
    kind: Option<SymbolKind>,
    limit: usize,
) -> Result<CodeSearchResult, ApiError> {
    let repository = open(call, path, Unindexed::AcceptCheckouts).await?;
    let query = question.text().to_owned();
    let meant = repository.meant(question).await;
    let vectors_used = meant.is_some();
    let asked = call.daemon.code.ask(&repository, move |index| {
        let hits = match &meant {
            Some(meant) => meant.with(|alike| index.search_by(&query, kind, limit, Some(alike))),
            None => index.search(&query, kind, limit),
        };
        (hits, index.unknown_names(&query))
    });
    let (fresh, (hits, unknown_names)) = asked.await.map_err(|error| of_map(&error))?;
    let hits = hits.map_err(|error| of_map(&error.into()))?;
    let seen = located_beacons(&repository).await?;
    let beacons = seen
        .iter()
        .filter(|seen| is_meant(question.text(), seen))
        .map(|seen| beacon(seen, &repository))
        .collect();
    let hit = |hit: missiond_codemap::Hit| CodeHit {
        symbol: symbol(&hit.node),
        matched: match hit.matched {
            Match::Name => "name",
            Match::NameInAnyCase => "name_in_any_case",
            Match::Words => "words",
            Match::Meaning => "meaning",
        }
        .to_owned(),
        score: hit.score,
    };
    Ok(CodeSearchResult {
        root: repository.root(),
        freshness: freshness(fresh),
        unknown_names,
        hits: hits.into_iter().map(hit).collect(),
        beacons,
        vectors_used,
        notice: meaning_notice(&repository.status().meaning),
    })
}

async fn show(call: Call, params: CodeShowParams) -> Result<CodeShowResult, ApiError> {
    let repository = open(&call, &params.path, Unindexed::AcceptCheckouts).await?;
    let wanted = params.symbol.clone();
    let asked = call
        .daemon
        .code
        .ask(&repository, move |index| index.find(&wanted));
    let (fresh, mut nodes) = asked.await.map_err(|error| of_map(&error))?;
    // A beacon was given its name by somebody: it is meant.
    let seen = located_beacons(&repository).await?;
    if let Some(beacon) = seen.into_iter().find(|seen| seen.row.name == params.symbol) {
        let found = beacon
            .followed
            .into_iter()
            .filter_map(|followed| match followed {
                FollowOutcome::Found(found) => Some(found.node),
                FollowOutcome::Lost(_) => None,
            });
        nodes = found.collect();
        if nodes.is_empty() {
            let message = format!(
                "the code of the beacon `{}` is lost: `mission code beacon list` says where it \
                 was",
                params.symbol
            );
            return Err(ApiError::new(ErrorCode::NotFound, message));
        }
    }
    if nodes.is_empty() {
        let given: String = params.symbol.chars().take(200).collect();
        let message = format!(
            "nothing in {} is called `{given}`: `mission code search` finds by words",
            repository.root()
        );
        return Err(ApiError::new(ErrorCode::NotFound, message));
    }
    let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    nodes.truncate(SHOWN);
    let root = repository.checkout.root.clone();
    let shown = call.daemon.code.query(&repository, move |index| {
        let shown = |node: NodeRef| {
            let source = if node.is_file() {
                Ok(outline(&index.in_file(&node.path)))
            } else {
                read_source(&root, &node.path).map(|text| lines_of(&text, &node))
            };
            let source = source.unwrap_or_else(|skip| format!("[{}]", skip.reason()));
            let cut = source.len() > LONGEST_SOURCE;
            ShownSymbol {
                symbol: symbol(&node),
                source: source.chars().take(LONGEST_SOURCE).collect(),
                cut,
            }
        };
        nodes.into_iter().map(shown).collect::<Vec<_>>()
    });
    Ok(CodeShowResult {
        root: repository.root(),
        freshness: freshness(fresh),
        found: shown.await.map_err(|error| of_map(&error))?,
        count,
    })
}

fn lines_of(text: &str, node: &NodeRef) -> String {
    let span = node.symbol.span;
    let before = (span.first_line as usize).saturating_sub(1);
    let count = (span.last_line as usize).saturating_sub(before);
    let lines: Vec<_> = text.lines().skip(before).take(count).collect();
    lines.join("\n")
}

fn outline(nodes: &[NodeRef]) -> String {
    let line = |node: &NodeRef| {
        let depth = match node.symbol.container.as_str() {
            "" => 0,
            container => container.split(node.language.separator()).count(),
        };
        let indent = "  ".repeat(depth);
        let symbol = &node.symbol;
        format!(
            "{:>5}  {indent}{}",
            symbol.span.first_line, symbol.signature
        )
    };
    nodes.iter().map(line).collect::<Vec<_>>().join("\n")
}

async fn map(call: Call, params: CodeMapParams) -> Result<CodeMapResult, ApiError> {
    let repository = open(&call, &params.path, Unindexed::AcceptCheckouts).await?;
    let request = MapRequest {
        tokens: params.tokens.to_usize(),
        count: estimated_tokens,
        focus: params.focus,
    };
    let asked = call
        .daemon
        .code
        .ask(&repository, move |index| index.map(&request));
    let (fresh, drawn) = asked.await.map_err(|error| of_map(&error))?;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(CodeMapResult {
        root: repository.root(),
        freshness: freshness(fresh),
        tokens: number(drawn.tokens),
        files_shown: number(drawn.files_shown),
        files: number(drawn.files),
        symbols_shown: number(drawn.symbols_shown),
        symbols: number(drawn.symbols),
        text: drawn.text,
        unknown_focus: drawn.unknown_focus,
    })
}

async fn set(call: Call, params: BeaconSetParams) -> Result<Beacon, ApiError> {
    check_beacon(&params)?;
    let repository = open(&call, &params.path, Unindexed::AcceptCheckouts).await?;
    let wanted = params.symbols.to_vec();
    let asked = call.daemon.code.ask(&repository, move |index| {
        let found = |named: &String| (named.clone(), index.find(named));
        wanted.iter().map(found).collect::<Vec<_>>()
    });
    let (fresh, found) = asked.await.map_err(|error| of_map(&error))?;
    if let Fresh::Updating { .. } = fresh {
        let message = "the repository is still being read: set the beacon when it is done, \
             `mission code status` says so";
        return Err(ApiError::new(ErrorCode::Conflict, message));
    }
    let mut anchors = Vec::new();
    for (named, nodes) in found {
        match nodes.as_slice() {
            [node] => anchors.push(Anchor::of(node)),
            [] => {
                let message = format!("nothing in {} is called `{named}`", repository.root());
                return Err(ApiError::new(ErrorCode::NotFound, message));
            }
            several => {
                let place =
                    |node: &NodeRef| format!("{}:{}", node.path, node.symbol.span.first_line);
                let places: Vec<_> = several.iter().take(SHOWN).map(place).collect();
                let message = format!(
                    "`{named}` is the name of {} things, name one by its place: {}",
                    several.len(),
                    places.join(", ")
                );
                return Err(ApiError::invalid_params(message));
            }
        }
    }
    let done = beacons::set(&repository, &params.name, &params.note, &anchors).await;
    done.map_err(|error| of_map(&error))?;
    let seen = located_beacons(&repository).await?;
    let set = seen.iter().find(|seen| seen.row.name == *params.name);
    set.map(|seen| beacon(seen, &repository))
        .ok_or_else(|| ApiError::new(ErrorCode::Conflict, "the beacon was removed meanwhile"))
}

fn check_beacon(params: &BeaconSetParams) -> Result<(), ApiError> {
    let name = params.name.trim();
    let wrong = match () {
        () if name.is_empty() || name != params.name.as_str() => {
            "a beacon needs a name without blanks around it"
        }
        () if name.chars().any(char::is_control) => "the name of a beacon is one line of text",
        () if params.note.contains('\0') => "a note is text, without NUL characters",
        () => return Ok(()),
    };
    Err(ApiError::invalid_params(wrong))
}

async fn list(call: Call, params: BeaconListParams) -> Result<BeaconListResult, ApiError> {
    let repository = open(&call, &params.path, Unindexed::AcceptCheckouts).await?;
    let asked = call.daemon.code.ask(&repository, |_| ()).await;
    let (fresh, ()) = asked.map_err(|error| of_map(&error))?;
    let seen = located_beacons(&repository).await?;
    Ok(BeaconListResult {
        root: repository.root(),
        freshness: freshness(fresh),
        beacons: seen.iter().map(|seen| beacon(seen, &repository)).collect(),
    })
}

async fn remove(call: Call, params: BeaconRemoveParams) -> Result<BeaconRemoveResult, ApiError> {
    let repository = open(&call, &params.path, Unindexed::AcceptCheckouts).await?;
    let removed = beacons::remove(&repository, &params.name).await;
    if removed.map_err(|error| of_map(&error))? {
        return Ok(BeaconRemoveResult {
            removed: params.name,
        });
    }
    let name: String = params.name.chars().take(LONGEST_NAME).collect();
    let message = format!("there is no beacon `{name}`: `mission code beacon list` shows them");
    Err(ApiError::new(ErrorCode::NotFound, message))
}

async fn open(
    call: &Call,
    path: &AbsolutePath,
    unindexed: Unindexed,
) -> Result<Arc<Repository>, ApiError> {
    walls::may_look(call, path.as_path())?;
    let opened = call.daemon.code.repository(path.as_path(), unindexed).await;
    opened.map_err(|error| of_map(&error))
}

async fn located_beacons(repository: &Arc<Repository>) -> Result<Vec<LocatedBeacon>, ApiError> {
    beacons::locate_all(repository)
        .await
        .map_err(|error| of_map(&error))
}

async fn described(
    call: &Call,
    repository: &Arc<Repository>,
    fresh: Option<Fresh>,
) -> Result<CodeStatusResult, ApiError> {
    let counts = call.daemon.code.query(repository, |index| index.counts());
    let counts = counts.await.map_err(|error| of_map(&error))?;
    let status = repository.status();
    let skipped_count = u32::try_from(counts.skipped.len()).unwrap_or(u32::MAX);
    let skipped = counts.skipped.into_iter().take(SKIPPED);
    Ok(CodeStatusResult {
        root: repository.root(),
        freshness: freshness(fresh.unwrap_or(status.fresh)),
        checked_at: status.checked_at,
        files: counts.files,
        symbols: counts.symbols,
        lines: counts.lines,
        languages: counts
            .languages
            .into_iter()
            .map(|(language, files)| (language.to_owned(), files))
            .collect(),
        skipped: skipped
            .map(|(path, skip)| SkippedFile {
                path,
                reason: skip.reason().to_owned(),
            })
            .collect(),
        skipped_count,
        beyond_limit: status.last.map_or(0, |pass| pass.beyond),
        last_pass: status.last.map(|pass| PassReport {
            changed: pass.changed,
            gone: pass.gone,
            millis: u64::try_from(pass.took.as_millis()).unwrap_or(u64::MAX),
        }),
        embedded: status.meaning.made,
        to_embed: status.meaning.wanted,
    })
}

/// Why meaning is not compared, or not of everything.
fn meaning_notice(status: &MeaningStatus) -> Option<String> {
    match (&status.problem, status.made, status.wanted) {
        (Some(problem), ..) => Some(problem.clone()),
        (None, _, 0) => Some("no symbol was read by a model yet".to_owned()),
        (None, made, wanted) if made < wanted => Some(format!(
            "{made} of {wanted} symbols were read by a model so far"
        )),
        (None, ..) => None,
    }
}

fn symbol(node: &NodeRef) -> CodeSymbol {
    let symbol = &node.symbol;
    CodeSymbol {
        kind: symbol.kind.to_string(),
        name: node.qualified(),
        path: node.path.to_string(),
        first_line: symbol.span.first_line,
        last_line: symbol.span.last_line,
        language: node.language.to_string(),
        signature: symbol.signature.clone(),
        doc: symbol.doc.clone(),
        hash: symbol.hash.to_string(),
    }
}

fn beacon(seen: &LocatedBeacon, repository: &Repository) -> Beacon {
    let at_home = seen.row.repository == repository.id;
    let pieces = seen.row.nodes.iter().zip(&seen.followed);
    Beacon {
        name: seen.row.name.clone(),
        note: seen.row.note.clone(),
        pieces: pieces
            .map(|(row, followed)| piece(row, followed, at_home))
            .collect(),
    }
}

fn piece(row: &BeaconNodeRow, followed: &FollowOutcome, at_home: bool) -> BeaconPiece {
    match followed {
        FollowOutcome::Found(found) => {
            let node = &found.node;
            let trail = beacons::word_for(found.kind);
            // Where it is at home it was found before; how is on record.
            let known = at_home && trail == "unchanged";
            let elsewhere = !known && !matches!(trail, "unchanged" | "edited");
            BeaconPiece {
                kind: node.symbol.kind.to_string(),
                name: node.qualified(),
                path: node.path.to_string(),
                line: node.symbol.span.first_line,
                standing: standing(if known { &row.trail } else { trail }),
                moved_from: if elsewhere {
                    Some(beacons::described(row))
                } else {
                    row.moved_from.clone().filter(|_| at_home)
                },
                suggestions: Vec::new(),
            }
        }
        FollowOutcome::Lost(suggestions) => BeaconPiece {
            kind: row.kind.clone(),
            name: row.name.clone(),
            path: row.path.clone(),
            line: row.line,
            standing: BeaconStanding::Lost,
            moved_from: None,
            suggestions: suggestions
                .iter()
                .map(|place| {
                    let node = &place.node;
                    let line = node.symbol.span.first_line;
                    format!("{}:{line} {}", node.path, node.qualified())
                })
                .collect(),
        },
    }
}

fn standing(trail: &str) -> BeaconStanding {
    match trail {
        "edited" => BeaconStanding::Edited,
        "moved" => BeaconStanding::Moved,
        "renamed" => BeaconStanding::Renamed,
        "alike" => BeaconStanding::Alike,
        _ => BeaconStanding::Unchanged,
    }
}

/// Whether a query names a beacon: all words of its name, or it as a whole.
fn is_meant(query: &str, seen: &LocatedBeacon) -> bool {
    let query = query.to_lowercase();
    let asked: Vec<_> = query.split(|c: char| !c.is_alphanumeric()).collect();
    let name = seen.row.name.to_lowercase();
    name == query.trim()
        || name
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .all(|word| asked.contains(&word))
}

fn freshness(fresh: Fresh) -> Freshness {
    match fresh {
        Fresh::Current => Freshness::Current,
        Fresh::Updating { read, to_read } => Freshness::Updating { read, to_read },
        Fresh::Failed(reason) => Freshness::Failed { reason },
        Fresh::Unchecked => Freshness::Unchecked,
    }
}

fn of_map(error: &CodeMapError) -> ApiError {
    let code = match error {
        CodeMapError::Code(CodeError::NoFolder { .. } | CodeError::NoRepository(_))
        | CodeMapError::NotIndexed(_) => ErrorCode::NotFound,
        CodeMapError::Code(CodeError::Stopped(_)) => ErrorCode::ShuttingDown,
        CodeMapError::Code(_) => ErrorCode::InvalidParams,
        CodeMapError::Store(error) => error.code(),
        CodeMapError::Busy(_) => ErrorCode::Conflict,
        CodeMapError::Unread(_) | CodeMapError::Panicked => ErrorCode::Internal,
    };
    ApiError::new(code, error.to_string())
}
