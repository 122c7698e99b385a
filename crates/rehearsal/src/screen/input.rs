//! What keys do: at the prompt, while the agent works, in its dialogs.

use super::Screen;
use crate::agent::{Break, HANGUP_CODE, Stage as _};
use crate::keys::Key;
use crate::terminal::Event;
use crate::view::{Answer, Block, COMMANDS, Command, Panel, Permission};

impl Screen {
    pub(super) async fn wait_for_prompt(&mut self) -> Result<String, Break> {
        loop {
            let key = self.next_key().await?;
            let menu = self.view.menu();
            let armed = std::mem::take(&mut self.view.exit_armed);
            match key {
                Key::Up if !menu.is_empty() => {
                    self.view.menu_mark = self.view.menu_mark.saturating_sub(1);
                }
                Key::Down if !menu.is_empty() => {
                    self.view.menu_mark = (self.view.menu_mark + 1).min(menu.len() - 1);
                }
                Key::Tab => {
                    if let Some(command) = menu.get(self.view.menu_mark) {
                        self.view.draft.set(command.name);
                    }
                }
                Key::Escape => self.view.menu_closed = true,
                Key::Enter => {
                    if let Some(prompt) = self.enter(&menu)? {
                        return Ok(prompt);
                    }
                }
                Key::Interrupt if !self.view.draft.is_empty() => self.view.draft.clear(),
                Key::Interrupt if armed => return Err(Break::Exit(0)),
                Key::Interrupt => self.view.exit_armed = true,
                Key::EndOfInput if self.view.draft.is_empty() => return Err(Break::Exit(0)),
                key => self.edit(&key),
            }
        }
    }

    /// What Enter does with the draft: a prompt, or a command that was obeyed.
    fn enter(&mut self, menu: &[Command]) -> Result<Option<String>, Break> {
        let marked = menu.get(self.view.menu_mark).copied();
        let text = self.view.draft.take();
        self.view.menu_mark = 0;
        self.view.menu_closed = false;
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let word_alone = text.starts_with('/') && !text.contains(char::is_whitespace);
        if !word_alone {
            return Ok(Some(text.to_owned()));
        }
        let typed = COMMANDS.into_iter().find(|command| command.name == text);
        match typed.or(marked).map(|command| command.name) {
            Some("/exit") => return Err(Break::Exit(0)),
            Some("/clear") => {
                self.view.blocks.clear();
                self.view.dropped = 0;
                self.view.failed = false;
                self.painter.start_over();
            }
            Some("/help") => {
                let lines = COMMANDS.map(|command| format!("{}: {}", command.name, command.about));
                let text = format!(
                    "This is a rehearsal: a script answers your prompts, no model does.\n{}",
                    lines.join("\n")
                );
                self.view.push(Block::Notice(text));
            }
            _ => {
                let text = format!("There is no command {text}.");
                self.view.push(Block::Notice(text));
            }
        }
        Ok(None)
    }

    /// A key or another event while a turn is under way.
    pub(super) fn while_busy(&mut self, event: Option<Event>) -> Result<(), Break> {
        let Some(key) = self.key_of(event)? else {
            return Ok(());
        };
        match key {
            Key::Escape | Key::Interrupt => return Err(Break::Interrupted),
            Key::Enter if matches!(self.view.panel, Panel::Prompt) => {
                let text = self.view.draft.take();
                if !text.trim().is_empty() {
                    self.view.queued.push_back(text.trim().to_owned());
                }
            }
            key => self.edit(&key),
        }
        Ok(())
    }

    /// Shows the dialog and waits for the answer.
    pub(super) async fn ask_person(&mut self, permission: Permission) -> Result<Answer, Break> {
        self.view.panel = Panel::Permission(permission);
        let answer = loop {
            let key = self.next_key().await?;
            let Panel::Permission(permission) = &mut self.view.panel else {
                break Answer::Deny;
            };
            let last = Permission::OPTIONS.len() - 1;
            match key {
                Key::Up => permission.mark = permission.mark.saturating_sub(1),
                Key::Down => permission.mark = (permission.mark + 1).min(last),
                Key::Enter => break Permission::OPTIONS[permission.mark].1,
                Key::Escape => break Answer::Deny,
                Key::Interrupt => return Err(Break::Interrupted),
                Key::Text(digit) => {
                    let number = digit.to_digit(10).unwrap_or(0) as usize;
                    let chosen = number.checked_sub(1);
                    if let Some((_, answer)) = chosen.and_then(|i| Permission::OPTIONS.get(i)) {
                        break *answer;
                    }
                }
                _ => {}
            }
        };
        self.view.panel = Panel::Prompt;
        Ok(answer)
    }

    /// Shows the question and waits until an answer was typed.
    pub(super) async fn ask_question(&mut self, question: String) -> Result<String, Break> {
        // What was being typed is no answer; it comes back afterwards.
        let draft = std::mem::take(&mut self.view.draft);
        self.view.panel = Panel::Question(question);
        let answer = loop {
            match self.next_key().await? {
                Key::Enter if self.view.draft.text().trim().is_empty() => {}
                Key::Enter => break Ok(self.view.draft.take().trim().to_owned()),
                Key::Escape | Key::Interrupt => break Err(Break::Interrupted),
                key => self.edit(&key),
            }
        };
        self.view.draft = draft;
        self.view.panel = Panel::Prompt;
        answer
    }

    /// Stuck: nothing is drawn and no key does anything.
    pub(super) async fn ignore_keys(&mut self) -> Break {
        loop {
            if let Some(Event::Ended(signal)) = self.events.recv().await {
                return Break::Exit(HANGUP_CODE + signal);
            }
        }
    }

    /// Draws, then waits for a key.
    async fn next_key(&mut self) -> Result<Key, Break> {
        loop {
            self.draw()?;
            let event = self.events.recv().await;
            if let Some(key) = self.key_of(event)? {
                return Ok(key);
            }
        }
    }

    fn key_of(&mut self, event: Option<Event>) -> Result<Option<Key>, Break> {
        match event {
            Some(Event::Key(key)) => Ok(Some(key)),
            Some(Event::Resized) => {
                self.painter.start_over();
                Ok(None)
            }
            Some(Event::Ended(signal)) => Err(Break::Exit(HANGUP_CODE + signal)),
            None => Err(Break::Exit(HANGUP_CODE + 1)),
        }
    }

    fn edit(&mut self, key: &Key) {
        if self.view.draft.edit(key) {
            self.view.menu_closed = false;
            self.view.menu_mark = 0;
        }
    }
}
