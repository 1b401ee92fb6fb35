//! Writes the JSON Schemas of task files and reports into a directory: `cargo xtask schemas`.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let directory = std::env::args_os().nth(1).map_or_else(|| "docs/schemas".into(), PathBuf::from);
    std::fs::create_dir_all(&directory)?;
    let schemas = [("task", pi_converge::task_schema()), ("report", pi_converge::report_schema())];
    for (name, schema) in schemas {
        std::fs::write(directory.join(format!("{name}.schema.json")), format!("{schema:#}\n"))?;
    }
    Ok(())
}
