//! Where a picture of a terminal goes: into a file, or to standard output where
//! that can take it.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use missiond_api::operations::compute::{PictureEncoding, ScreenshotFormat, SlotPicture};
use missiond_core::ErrorCode;
use missiond_os::files::open_private_output;
use missiond_pty::screenshot::{Animation, Format, PictureError};
use serde::Serialize;

use crate::args::PictureArgs;
use crate::failure::Failure;
use crate::output::Output;

/// A picture that is written down.
pub(super) struct EncodedPicture {
    pub(super) format: ScreenshotFormat,
    pub(super) columns: u16,
    pub(super) rows: u16,
    pub(super) content: Vec<u8>,
}

impl EncodedPicture {
    /// What the daemon sent.
    pub(super) fn of_slot(picture: SlotPicture) -> Result<Self, Failure> {
        let content = match picture.encoding {
            PictureEncoding::Text => picture.content.into_bytes(),
            PictureEncoding::Base64 => BASE64.decode(picture.content).map_err(|error| {
                let message = format!("the daemon's answer holds no image: {error}");
                Failure::new(ErrorCode::Internal, message)
            })?,
        };
        Ok(Self {
            format: picture.format,
            columns: picture.columns,
            rows: picture.rows,
            content,
        })
    }

    fn printed(&self) -> Printed {
        let (encoding, content) = match std::str::from_utf8(&self.content) {
            Ok(text) if self.format != ScreenshotFormat::Png => {
                (PictureEncoding::Text, text.to_owned())
            }
            _ => (PictureEncoding::Base64, BASE64.encode(&self.content)),
        };
        Printed {
            format: self.format,
            columns: self.columns,
            rows: self.rows,
            encoding,
            content,
        }
    }
}

/// What `--json` prints of a picture that goes nowhere else.
#[derive(Serialize)]
struct Printed {
    format: ScreenshotFormat,
    columns: u16,
    rows: u16,
    encoding: PictureEncoding,
    content: String,
}

/// What `--json` prints about a picture in a file.
#[derive(Serialize)]
struct Written<'a> {
    file: &'a Path,
    format: ScreenshotFormat,
    columns: u16,
    rows: u16,
    bytes: usize,
}

/// The format asked for, else the one the file's name says, else text. Fails
/// before anything is drawn where the result would have no place to go.
pub(super) fn format_of(args: &PictureArgs, output: &Output) -> Result<ScreenshotFormat, Failure> {
    let format = match (args.format, args.output.as_deref()) {
        (Some(format), _) => format.into(),
        (None, None) => ScreenshotFormat::Text,
        (None, Some(file)) => format_by_name(file)?,
    };
    let to_screen = args.output.is_none() && !output.is_json() && std::io::stdout().is_terminal();
    if format == ScreenshotFormat::Png && to_screen {
        return Err(Failure::new(
            ErrorCode::InvalidParams,
            "a PNG image is not for a terminal: name a file with `-o shot.png`, or send it on with `|` or `>`",
        ));
    }
    Ok(format)
}

pub(super) fn deliver(
    args: &PictureArgs,
    drawn: &EncodedPicture,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    if let Some(file) = &args.output {
        write_file(file, &drawn.content)?;
        let written = Written {
            file,
            format: drawn.format,
            columns: drawn.columns,
            rows: drawn.rows,
            bytes: drawn.content.len(),
        };
        output.result(&written, |output, written| {
            let Written {
                columns,
                rows,
                bytes,
                ..
            } = written;
            let file = file.display();
            output.line(format!("{file}: {columns}x{rows} cells, {bytes} bytes."));
        });
        return Ok(ExitCode::SUCCESS);
    }
    if output.is_json() {
        output.json_line(&drawn.printed());
        return Ok(ExitCode::SUCCESS);
    }
    let end: &[u8] = if drawn.format == ScreenshotFormat::Ansi {
        b"\n"
    } else {
        b""
    };
    print(&[&drawn.content, end])
}

/// What `--json` prints about a moving picture.
#[derive(Serialize)]
struct Animated<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a Path>,
    columns: u16,
    rows: u16,
    frames: usize,
    seconds: f64,
    bytes: usize,
    /// Where it goes nowhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

pub(super) fn deliver_animation(
    file: Option<&Path>,
    animation: &Animation,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let svg = &animation.svg;
    match file {
        Some(file) => write_file(file, svg.as_bytes())?,
        None if output.is_json() => {}
        None => return print(&[svg.as_bytes()]),
    }
    let animated = Animated {
        file,
        columns: animation.size.columns,
        rows: animation.size.rows,
        frames: animation.frames,
        seconds: animation.length.as_secs_f64(),
        bytes: svg.len(),
        content: file.is_none().then_some(svg),
    };
    output.result(&animated, |output, animated| {
        let Animated {
            columns,
            rows,
            frames,
            seconds,
            bytes,
            ..
        } = animated;
        let file = file.unwrap_or(Path::new("-")).display();
        output.line(format!(
            "{file}: {columns}x{rows} cells, {frames} frames, {seconds:.1} s, {bytes} bytes."
        ));
    });
    Ok(ExitCode::SUCCESS)
}

fn write_file(file: &Path, content: &[u8]) -> Result<(), Failure> {
    let written = open_private_output(file).and_then(|mut out| out.write_all(content));
    written.map_err(|error| {
        let message = format!("{} could not be written: {error}", file.display());
        Failure::new(ErrorCode::Internal, message)
    })
}

fn print(parts: &[&[u8]]) -> Result<ExitCode, Failure> {
    let mut stdout = std::io::stdout().lock();
    let mut written = Ok(());
    for part in parts {
        written = written.and_then(|()| stdout.write_all(part));
    }
    match written.and_then(|()| stdout.flush()) {
        // A reader that has seen enough is no failure.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn format_by_name(file: &Path) -> Result<ScreenshotFormat, Failure> {
    let suffix = file.extension().unwrap_or_default().to_string_lossy();
    match suffix.to_ascii_lowercase().as_str() {
        "png" => Ok(ScreenshotFormat::Png),
        "svg" => Ok(ScreenshotFormat::Svg),
        "txt" | "text" => Ok(ScreenshotFormat::Text),
        "ans" | "ansi" => Ok(ScreenshotFormat::Ansi),
        _ => Err(Failure::new(
            ErrorCode::InvalidParams,
            format!(
                "the name {} does not say which format: end it in .png, .svg, .txt or .ansi, or add --format",
                file.display()
            ),
        )),
    }
}

/// How the renderer calls it.
pub(super) fn rendered_as(format: ScreenshotFormat) -> Format {
    match format {
        ScreenshotFormat::Png => Format::Png,
        ScreenshotFormat::Text => Format::Text,
        ScreenshotFormat::Ansi => Format::Ansi,
        ScreenshotFormat::Svg => Format::Svg,
    }
}

pub(super) fn picture_failure(error: &PictureError) -> Failure {
    let code = match error {
        PictureError::TooLarge(_) => ErrorCode::TooLarge,
        PictureError::Encoding(_) => ErrorCode::Internal,
        PictureError::Recording(_) => ErrorCode::InvalidRequest,
    };
    Failure::new(code, error.to_string())
}
