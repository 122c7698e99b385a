//! Files that a person shows an agent with a message.

use std::path::Path;

use missiond_model_server::Reply;

use super::{Agent, Cli, Control, Room};

impl Cli {
    /// A picture reaches the model, and another file is named to the agent.
    pub(super) fn is_shown_files(&self, room: &Room) {
        let model = &room.model;
        model.reply(Reply::new().text("Show me."));
        let agent = Agent::start(self, room, "look at something", &[]);
        agent.wait_for_rest("Show me.");
        let (picture, notes) = (room.path("work/picture.png"), room.path("work/notes.txt"));
        draw(&picture);
        model.reply(Reply::new().text("It is blue."));
        let (picture, notes) = (picture.display().to_string(), notes.display().to_string());
        let command = [
            "execution",
            "message",
            "agent",
            "what colour is it",
            "--file",
            &picture,
            "--file",
            &notes,
        ];
        let sent = room.home.json(&command);
        agent.wait_for_delivery(&sent);
        agent.wait_for_rest("It is blue.");
        let asked = model.turns().last().unwrap().body.to_string();
        assert!(asked.contains("what colour is it"), "{asked}");
        assert!(asked.contains("notes.txt"), "{asked}");
        match self.control {
            // However an API carries it: the beginning of every PNG in base64.
            Control::Structured => assert!(asked.contains("iVBORw0KGgo"), "{asked}"),
            Control::Terminal => assert!(asked.contains("picture.png"), "{asked}"),
        }
        let missing = room.path("work/missing.png").display().to_string();
        let command = [
            "execution",
            "message",
            "agent",
            "and this",
            "--file",
            &missing,
        ];
        let (_, said) = room.home.failure(&command);
        assert!(said.contains("missing.png: No such file"), "{said}");
    }
}

/// A small blue picture.
fn draw(file: &Path) {
    const SIDE: u32 = 16;
    let file = std::fs::File::create(file).unwrap();
    let mut encoder = png::Encoder::new(file, SIDE, SIDE);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    let pixels = [0, 0, 255].repeat((SIDE * SIDE) as usize);
    writer.write_image_data(&pixels).unwrap();
}
