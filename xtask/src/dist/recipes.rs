//! A Homebrew formula and a Nix flake: files that name the archives of this release
//! with their checksums, and nothing else.

use std::fmt::Write as _;

use super::release::{Program, Release, SUMMARY};
use super::tarball;

pub(super) const FORMULA: &str = "mission.rb";
pub(super) const FLAKE: &str = "flake.nix";

/// An archive and its SHA-256 in hex.
pub(super) type Archive<'a> = (&'a Program, &'a str);

/// The formula, for Homebrew on Linux.
pub(super) fn formula(release: &Release, archives: &[Archive<'_>]) -> String {
    let mut machines = String::new();
    for (program, sum) in archives {
        let machine = match program.target.node {
            "x64" => "intel",
            _ => "arm",
        };
        // Writing to a text cannot fail.
        let _ = write!(
            machines,
            "\n  on_{machine} do\n    url \"{}/{}\"\n    sha256 \"{sum}\"\n  end\n",
            release.url,
            tarball::name(release, program)
        );
    }
    let licence: Vec<_> = release
        .licence
        .split(" OR ")
        .map(|one| format!("\"{one}\""))
        .collect();
    format!(
        r##"class Mission < Formula
  desc "{SUMMARY}"
  homepage "{}"
  version "{}"
  license any_of: [{}]

  depends_on :linux
{machines}
  def install
    bin.install "bin/mission"
    man1.install "share/man/man1/mission.1"
    bash_completion.install "share/bash-completion/completions/mission"
    zsh_completion.install "share/zsh/site-functions/_mission"
    fish_completion.install "share/fish/vendor_completions.d/mission.fish"
    doc.install Dir["share/doc/mission/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/mission version")
  end
end
"##,
        release.url,
        release.version,
        licence.join(", ")
    )
}

/// The flake; its packages are the archives, unpacked.
pub(super) fn flake(release: &Release, archives: &[Archive<'_>]) -> String {
    let mut machines = String::new();
    for (program, sum) in archives {
        // Writing to a text cannot fail.
        let _ = write!(
            machines,
            "\n        {}-linux = {{\n          url = \"{}/{}\";\n          sha256 = \"{sum}\";\n        }};",
            program.target.machine,
            release.url,
            tarball::name(release, program)
        );
    }
    let licences: Vec<_> = release
        .licence
        .split(" OR ")
        .map(|one| format!("\"{one}\""))
        .collect();
    format!(
        r#"{{
  description = "{SUMMARY}";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = {{ self, nixpkgs }}:
    let
      archives = {{{machines}
      }};
    in
    {{
      packages = builtins.mapAttrs
        (system: archive:
          let pkgs = nixpkgs.legacyPackages.${{system}};
          in {{
            default = pkgs.stdenvNoCC.mkDerivation {{
              pname = "mission";
              version = "{}";
              src = pkgs.fetchurl archive;
              dontBuild = true;
              dontStrip = true;
              installPhase = "mkdir $out && cp --recursive bin share $out/";
              meta = {{
                description = "{SUMMARY}";
                license = map pkgs.lib.getLicenseFromSpdxId [ {} ];
                mainProgram = "mission";
                platforms = [ system ];
              }};
            }};
          }})
        archives;
    }};
}}
"#,
        release.version,
        licences.join(" ")
    )
}
