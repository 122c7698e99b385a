//! From YAML to what permission dialogs ask for.

use missiond_yaml::Node;

use super::keys;
use super::parse::Parser;
use crate::request::{BodyIs, BodyRule, PermissionRule, RequestRule, Title};

impl Parser {
    pub(super) fn permission(&self, node: Node<'_>) -> Option<PermissionRule> {
        let fields = node.fields("`permission`", keys::PERMISSION)?;
        let allow = fields.require("allow").and_then(|node| self.pattern(node));
        let deny = fields.require("deny").and_then(|node| self.pattern(node));
        let requests = fields.require("requests").and_then(Node::list);
        let requests = requests.unwrap_or_default().into_iter();
        let requests = requests.filter_map(|node| self.request(node)).collect();
        Some(PermissionRule {
            allow: allow?,
            deny: deny?,
            requests,
        })
    }

    fn request(&self, node: Node<'_>) -> Option<RequestRule> {
        let fields = node.fields("a request", keys::REQUEST)?;
        let region = fields.require("in").and_then(|node| self.region_id(node));
        let pattern = |key| fields.get(key).and_then(|node| self.pattern(node));
        let title = match (fields.get("title"), fields.get("only")) {
            (Some(node), None) => self.pattern(node).map(Title::First),
            (None, Some(node)) => self.pattern(node).map(Title::Only),
            _ => {
                fields.problem("a request has either `title`, its first row, or `only`");
                None
            }
        };
        let (second, question) = (pattern("second"), pattern("question"));
        let tool = fields.get("tool").and_then(Node::text).map(str::to_owned);
        let body = fields.get("body").map(|node| self.body(node));
        let title = title?;
        let (Title::First(first) | Title::Only(first)) = &title;
        let names_tool = [Some(first), second.as_ref(), question.as_ref()]
            .into_iter()
            .flatten()
            .any(|pattern| pattern.capture_names().any(|name| name == Some("tool")));
        if tool.is_none() && !names_tool {
            fields.problem("a request needs `tool`, or a group `(?P<tool>…)` in a pattern");
        }
        Some(RequestRule {
            region: region?,
            title,
            second,
            question,
            tool,
            body: match body {
                Some(body) => Some(body?),
                None => None,
            },
        })
    }

    fn body(&self, node: Node<'_>) -> Option<BodyRule> {
        let fields = node.fields("a body", keys::BODY)?;
        let is = fields
            .require("is")
            .and_then(|node| node.word("kind of body", &BodyIs::NAMES));
        let pattern = |key| fields.get(key).and_then(|node| self.pattern(node));
        let flag = |key| fields.get(key).and_then(Node::boolean).unwrap_or(false);
        Some(BodyRule {
            is: is?,
            from: pattern("from"),
            after: pattern("after"),
            until: pattern("until"),
            first: flag("first"),
            mixed: flag("mixed"),
        })
    }
}
