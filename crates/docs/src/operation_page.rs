//! The page of an operation, from its declaration in the catalogue.

use std::fmt::Write as _;

use missiond_api::{Authority, CATALOGUE, Cost, DEFAULT_TOOLS, Effect, OperationSpec};
use missiond_core::DocKind;
use missiond_core::Scope;
use serde_json::{Value, json};

use crate::examples::example;
use crate::markdown::in_cell;
use crate::pages::{Mentions, Page};
use crate::schema::{Field, Presence, Schema};

pub(crate) fn pages(mentions: &Mentions) -> Vec<Page> {
    CATALOGUE.iter().map(|spec| page(spec, mentions)).collect()
}

fn page(spec: &OperationSpec, mentions: &Mentions) -> Page {
    Page {
        path: format!("operation/{}", spec.name),
        title: spec.name.to_owned(),
        kind: DocKind::Operation,
        summary: spec.description.to_owned(),
        markdown: markdown(spec) + &mentions.section(spec.name),
        file: format!("docs/operation/{}.md", spec.name),
        name: Some(spec.name),
        searched: Some(searched(spec)),
    }
}

/// What it does, and what each parameter is for.
fn searched(spec: &OperationSpec) -> String {
    let params = spec.params_schema().to_value();
    let mut words = spec.description.to_owned();
    for field in Schema::of(&params).fields() {
        let _ = write!(words, " {} {}", field.path, field.meaning);
    }
    words
}

fn markdown(spec: &OperationSpec) -> String {
    let (params, result) = (
        spec.params_schema().to_value(),
        spec.result_schema().to_value(),
    );
    let mut page = format!("# {}\n\n{}\n\n", spec.name, spec.description);
    facts(spec, &mut page);
    page.push_str("\n## Parameters\n\n");
    let fields = Schema::of(&params).fields();
    if fields.is_empty() {
        page.push_str("It takes none.\n");
    } else {
        page.push_str("| parameter | type | left out | meaning |\n|---|---|---|---|\n");
        for field in &fields {
            let left_out = match &field.presence {
                Presence::Required => "required".to_owned(),
                Presence::Optional => String::new(),
                Presence::Default(value) => format!("`{value}`"),
            };
            let row = [&field.kind, &left_out, &field.meaning].map(|cell| in_cell(cell));
            let _ = writeln!(page, "| `{}` | {} |", field.path, row.join(" | "));
        }
    }
    page.push_str("\n## Result\n\n");
    results(&Schema::of(&result).fields(), &mut page);
    calls(spec, &example(spec.name), &mut page);
    let beside: Vec<_> = CATALOGUE
        .iter()
        .filter(|other| other.toolset == spec.toolset && other.name != spec.name)
        .map(|other| format!("[`{0}`]({0}.md)", other.name))
        .collect();
    if !beside.is_empty() {
        let (toolset, beside) = (spec.toolset, beside.join(", "));
        let _ = write!(
            page,
            "\n## Beside it\n\nIn the toolset `{toolset}`: {beside}.\n"
        );
    }
    page
}

fn facts(spec: &OperationSpec, page: &mut String) {
    let effect = match spec.effect {
        Effect::ReadOnly => "nothing changes",
        Effect::Idempotent => "something changes; doing it twice changes nothing more",
        Effect::Additive => "something is added each time",
        Effect::Destructive => "something that cannot be brought back may be lost",
    };
    let cost = match spec.cost {
        Cost::Instant => "nothing: the daemon knows the answer",
        Cost::Database => "the database: milliseconds",
        Cost::Process => "other programs, or many files: up to seconds",
        Cost::Wait => "nothing, for as long as the caller says",
        Cost::Agent => "an agent that works because of it: minutes, and what its model costs",
    };
    let scope = spec.scope().map_or("", Scope::name);
    let who = match spec.authority {
        Authority::Everyone | Authority::Agents => {
            format!("a person, a program whose token has the scope `{scope}`, every agent")
        }
        Authority::Own(own) => format!(
            "a person, a program whose token has the scope `{scope}`, a person's own agent; the \
             agent of a slot for {}",
            own.words()
        ),
        Authority::Programs => {
            format!("a person, a program whose token has the scope `{scope}`; no agent")
        }
        Authority::People => "a person alone, at the command line outside every slot or on a page \
                              that is logged in; neither a program with a token nor an agent"
            .to_owned(),
    };
    let shown = match spec.authority {
        Authority::People | Authority::Programs => "not a tool of agents",
        _ if DEFAULT_TOOLS.contains(&spec.name) => "listed as a tool by default",
        _ => {
            "not listed as a tool by default: found with `operation_find`, called with \
             `operation_call`"
        }
    };
    let _ = write!(
        page,
        "- Effect: {effect} (`{}`).\n- What a call uses: {cost} (`{}`).\n- Who may call it: \
         {who} ([all of them](../reference/authority.md)).\n- For agents: {shown}; [what an agent is \
         shown](../reference/mcp.md#what-an-agent-is-shown).\n",
        spec.effect.name(),
        spec.cost.name(),
    );
}

fn results(fields: &[Field], page: &mut String) {
    if fields.is_empty() {
        page.push_str("An object without fields of its own.\n");
        return;
    }
    page.push_str("| field | type | meaning |\n|---|---|---|\n");
    for field in fields {
        let (kind, meaning) = (in_cell(&field.kind), in_cell(&field.meaning));
        let _ = writeln!(page, "| `{}` | {kind} | {meaning} |", field.path);
    }
}

fn calls(spec: &OperationSpec, example: &Value, page: &mut String) {
    let name = spec.name;
    let is_empty = example.as_object().is_some_and(serde_json::Map::is_empty);
    let arguments = if is_empty {
        String::new()
    } else {
        format!(" '{example}'")
    };
    let _ = write!(
        page,
        "\n## How to call it\n\nAt the command line:\n\n```sh\nmission call {name}{arguments}\n```\n"
    );
    if spec.is_for_agents() {
        let listed = DEFAULT_TOOLS.contains(&name);
        let tool = if listed {
            json!({"name": name, "arguments": example})
        } else {
            let arguments = json!({"operation": name, "params": example});
            json!({"name": "operation_call", "arguments": arguments})
        };
        let _ = write!(
            page,
            "\nBy MCP, as the parameters of `tools/call`:\n\n```json\n{tool}\n```\n"
        );
    }
    if spec.scope().is_some() {
        let _ = write!(
            page,
            "\nBy HTTP, with a [token](../reference/http.md#a-program):\n\n```sh\ncurl -H \
             \"Authorization: Bearer $TOKEN\" -d '{example}' \\\n    \
             http://127.0.0.1:PORT/api/v1/ops/{name}\n```\n"
        );
    }
    page.push_str(
        "\nWhat fails says why in one sentence, with a [code](../reference/http.md#a-program) \
         that is the same everywhere.\n",
    );
}
