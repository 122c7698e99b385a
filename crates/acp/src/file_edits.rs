//! The edits that a tool's input carries, as an editor shows them: a file with a text before
//! and after. Whatever the tool is called: many do more than edit, and name it otherwise.

use serde_json::Value;

use crate::protocol::{ToolContent, ToolKind};

/// Edits of one call that are shown.
const MOST: usize = 100;

const PATHS: [&str; 5] = [
    "file_path",
    "filePath",
    "absolute_path",
    "path",
    "notebook_path",
];
/// What stands there before and after, by the names that CLIs give them.
const PAIRS: [(&str, &str); 4] = [
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
];
/// The whole of a file that is written. Other tools than those that write have texts of
/// these names too.
const WHOLE: [&str; 3] = ["content", "file_text", "contents"];

/// None where the file is not named by its whole path: an editor knows no other.
pub(crate) fn of_input(kind: ToolKind, input: &Value) -> Vec<ToolContent> {
    let path = PATHS.iter().find_map(|name| input[*name].as_str());
    let Some(path) = path.filter(|path| path.starts_with('/')) else {
        return Vec::new();
    };
    let one = pair(input).into_iter();
    let listed = input["edits"].as_array().into_iter().flatten();
    let edits: Vec<_> = one.chain(listed.filter_map(pair)).take(MOST).collect();
    let diff = |old: Option<&str>, new: &str| ToolContent::Diff {
        path: path.to_owned(),
        old_text: old.map(str::to_owned),
        new_text: new.to_owned(),
    };
    if edits.is_empty() && kind == ToolKind::Edit {
        let whole = WHOLE.iter().find_map(|name| input[*name].as_str());
        return whole.map(|new| diff(None, new)).into_iter().collect();
    }
    edits
        .into_iter()
        .map(|(old, new)| diff(Some(old), new))
        .collect()
}

fn pair(edit: &Value) -> Option<(&str, &str)> {
    PAIRS
        .iter()
        .find_map(|(old, new)| Some((edit[*old].as_str()?, edit[*new].as_str()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(kind: ToolKind, input: &Value) -> Value {
        serde_json::to_value(of_input(kind, input)).unwrap()
    }

    #[test]
    fn an_edit_is_one_whatever_the_tool_is_called() {
        let edit = json!({"file_path": "/w/a", "old_string": "one", "new_string": "two"});
        let expected = json!([
            {"type": "diff", "path": "/w/a", "oldText": "one", "newText": "two"}]);
        for kind in [ToolKind::Edit, ToolKind::Other, ToolKind::Execute] {
            assert_eq!(told(kind, &edit), expected);
        }
        let several = json!({"filePath": "/w/a", "edits": [
            {"oldString": "one", "newString": "two"}, {"oldString": 1}, {"old_str": "a", "new_str": ""}]});
        assert_eq!(
            told(ToolKind::Other, &several),
            json!([
                {"type": "diff", "path": "/w/a", "oldText": "one", "newText": "two"},
                {"type": "diff", "path": "/w/a", "oldText": "a", "newText": ""}])
        );
    }

    #[test]
    fn a_whole_file_is_of_a_tool_that_writes_and_a_path_is_whole() {
        let write = json!({"path": "/w/a", "content": "all of it"});
        assert_eq!(
            told(ToolKind::Edit, &write),
            json!([{"type": "diff", "path": "/w/a", "newText": "all of it"}])
        );
        assert_eq!(told(ToolKind::Fetch, &write), json!([]));
        let beside = json!({"path": "a", "old_string": "one", "new_string": "two"});
        assert_eq!(told(ToolKind::Edit, &beside), json!([]));
        assert_eq!(told(ToolKind::Edit, &json!("a patch")), json!([]));
    }
}
