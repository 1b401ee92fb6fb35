//! Writes the JSON Schemas of the user's files into a directory: `cargo xtask schemas`.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let directory = std::env::args_os().nth(1).map_or_else(|| "docs/schemas".into(), PathBuf::from);
    std::fs::create_dir_all(&directory)?;
    for file in pi_models::schemas() {
        let path = directory.join(format!("{}.schema.json", file.name));
        std::fs::write(path, format!("{:#}\n", file.schema))?;
    }
    Ok(())
}
