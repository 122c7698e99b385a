//! The pictures that the README and the guides show are there, are what they are called, are small
//! enough to load, and the moving one shows the demo up to its end.

use std::path::{Path, PathBuf};

/// For one picture, in bytes: what a person on a slow line still waits for.
const LARGEST: u64 = 300 << 10;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The addresses of all pictures of a Markdown file that are in this repository.
fn pictures(document: &str) -> Vec<String> {
    let marks = ["](", "src=\"", "srcset=\""];
    let ends = [")", "\"", "\""];
    let mut found = Vec::new();
    for (mark, end) in marks.iter().zip(ends) {
        for rest in document.split(mark).skip(1) {
            let address = rest.split(end).next().unwrap_or_default();
            if address.ends_with(".svg") || address.ends_with(".png") {
                found.push(address.to_owned());
            }
        }
    }
    found
}

#[test]
fn the_pictures_of_the_documents_can_be_shown() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shown = pictures(&readme);
    assert!(shown.len() >= 3, "{shown:?}");
    for address in &shown {
        assert!(address.starts_with("docs/pictures/"), "{address}");
    }
    let folder = root().join("docs/pictures");
    let mut is_dated = false;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let size = std::fs::metadata(&file).unwrap().len();
        assert!(size <= LARGEST, "{} has {size} bytes", file.display());
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => {
                let svg = std::fs::read_to_string(&file).unwrap();
                roxmltree::Document::parse(&svg).unwrap();
            }
            Some("png") => {
                let bytes = std::io::BufReader::new(std::fs::File::open(&file).unwrap());
                let mut reader = png::Decoder::new(bytes).read_info().unwrap();
                let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
                reader.next_frame(&mut pixels).unwrap();
            }
            // Which version they show; a release has pictures of its own.
            Some("txt") => {
                let version = std::fs::read_to_string(&file).unwrap();
                assert_eq!(
                    version.trim(),
                    env!("CARGO_PKG_VERSION"),
                    "the pictures are of another version: `cargo xtask pictures` makes them anew"
                );
                is_dated = true;
            }
            _ => panic!("{} is no picture", file.display()),
        }
    }
    assert!(is_dated, "the pictures do not say which version they show");
    for address in shown {
        assert!(root().join(&address).is_file(), "{address} is not there");
    }
    for guide in std::fs::read_dir(root().join("docs/guides")).unwrap() {
        let guide = guide.unwrap().path();
        for address in pictures(&std::fs::read_to_string(&guide).unwrap()) {
            let is_there = guide.with_file_name(&address).is_file();
            assert!(is_there, "{}: {address} is not there", guide.display());
        }
    }
}

#[test]
fn the_moving_picture_shows_the_demo_up_to_its_end() {
    let svg = std::fs::read_to_string(root().join("docs/pictures/demo.svg")).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let root = document.root_element();
    let groups = |node: &roxmltree::Node<'_, '_>| node.has_tag_name("g");
    let screen = root.children().find(groups).unwrap();
    // What is always there, and what is there at the end.
    let at_end = screen.children().filter(groups).filter(|group| {
        let class = group.attribute("class");
        class.is_none_or(|class| class.ends_with(" e"))
    });
    let mut seen = String::new();
    for node in at_end.flat_map(|group| group.descendants()) {
        let used = node.attribute("href").map(|href| &href[1..]);
        let definition = |id| {
            root.descendants()
                .find(|node| node.attribute("id") == Some(id))
        };
        let node = used.and_then(definition).unwrap_or(node);
        for text in node.descendants().filter_map(|node| node.text()) {
            seen.push_str(text);
        }
    }
    // As the demo of today says it.
    let tasks = missiond_rehearsal::sample::TASKS;
    for wanted in tasks
        .iter()
        .map(|task| task.title)
        .chain(["All five tasks are done"])
    {
        assert!(
            seen.contains(wanted),
            "`{wanted}` is not at the end:\n{seen}"
        );
    }
    assert!(
        !svg.contains("<script") && !svg.contains("/tmp/"),
        "nothing of this machine"
    );
}
