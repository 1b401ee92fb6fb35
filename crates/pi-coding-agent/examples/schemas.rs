//! Writes the JSON Schemas of the user's files into a directory: `cargo xtask schemas`.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let directory = std::env::args_os().nth(1).map_or_else(|| "docs/schemas".into(), PathBuf::from);
    std::fs::create_dir_all(&directory)?;
    for (name, schema) in pi_coding_agent::config::schemas() {
        std::fs::write(directory.join(format!("{name}.schema.json")), format!("{schema:#}\n"))?;
    }
    Ok(())
}
