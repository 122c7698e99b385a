//! Every operation does what it says, and it shows elsewhere. In each of these
//! stories an agent acts by MCP, or is refused and a person does it; what came of it is then
//! looked at through another presentation: the command line, HTTP, the files, the processes.

mod agents;
mod daemon;
mod knowledge;
mod memory;
mod models;
mod start;
mod work;

use std::collections::BTreeSet;

use missiond_api::CATALOGUE;

const STORIES: [&str; 7] = [
    include_str!("agents.rs"),
    include_str!("daemon.rs"),
    include_str!("knowledge.rs"),
    include_str!("memory.rs"),
    include_str!("models.rs"),
    include_str!("start.rs"),
    include_str!("work.rs"),
];

/// Where a story looks that is not MCP.
const ELSEWHERE: [&str; 5] = ["home.call(", "home.json(", "std::fs::", "http.", "git("];

/// Goes by what the stories themselves say, so that there is no list of names to
/// be kept, and none to be believed.
#[test]
fn every_operation_has_a_story() {
    let mut told = BTreeSet::new();
    for story in STORIES
        .iter()
        .flat_map(|file| file.split("#[test]").skip(1))
    {
        let story: String = story.split_whitespace().collect();
        assert!(
            ELSEWHERE.iter().any(|place| story.contains(place)),
            "this looks nowhere but at itself: {story}"
        );
        for spec in CATALOGUE {
            let calls = [
                "done(",
                "call(",
                "left_to(&home,",
                "left_to(home,",
                "left_to(&stage.home,",
            ]
            .map(|how| format!("agent.{how}\"{}\",", spec.name));
            if calls.iter().any(|call| story.contains(call)) {
                told.insert(spec.name);
            }
        }
    }
    let all: BTreeSet<_> = CATALOGUE.iter().map(|spec| spec.name).collect();
    let missing: Vec<_> = all.difference(&told).collect();
    assert!(missing.is_empty(), "no story is told of {missing:?}");
}
