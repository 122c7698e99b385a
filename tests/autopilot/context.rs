//! What the agent of an attempt is told beside its first prompt.

use serde_json::json;

use super::Field;

#[test]
fn an_attempt_is_told_what_is_known_with_its_first_prompt_only() {
    let field = Field::new();
    field.home.json(&[
        "kb",
        "remember",
        "The list is sorted by hand, newest line first",
        "--key",
        "sorting",
    ]);
    let prompts = field.file("prompts");
    let keeps = |word: &str| {
        format!(
            "      - append: {{file: {}, text: \"{word}\\n{{{{prompt}}}}\\n\"}}\n",
            json!(prompts.to_str().unwrap())
        )
    };
    let turns = format!(
        "  - when: {{contains: Make a plan}}\n    steps:\n{}      - say: First this.\n  \
         - when: {{contains: carry the plan out}}\n    steps:\n{}      \
         - write: {{file: list.txt, text: \"two\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
        keeps("PLAN"),
        keeps("EXECUTE"),
    );
    let title = "Put two on the list";
    let task = field.task(title, &turns, json!({"phases": ["plan", "execute"]}));
    let preview = field.home.json(&["context", "preview", "--task", &task]);
    let text = preview["text"].as_str().unwrap();
    assert!(text.contains("> The list is sorted by hand"), "{text}");
    assert!(text.contains(&format!("> Task: {task}, {title}")), "{text}");

    let done = field.wait_status(&task, "done");
    let heard = std::fs::read_to_string(&prompts).unwrap();
    let (plan, execute) = heard.split_once("EXECUTE").unwrap();
    assert!(plan.contains("Make a plan"), "{plan}");
    assert!(plan.contains("entry \"sorting\""), "{plan}");
    assert!(plan.contains("> The list is sorted by hand"), "{plan}");
    assert!(!execute.contains("sorted by hand"), "{execute}");

    let execution = done["attempts"][0]["execution"].as_str().unwrap();
    let view = field.home.json(&["context", "show", execution]);
    assert_eq!(view["task"], done["task"]["id"]);
    let text = view["text"].as_str().unwrap();
    assert!(plan.contains(text.trim_end()), "{plan}");
}
