//! The result of print mode for other programs: a schema, one object, a file.

use super::options::{Set, Setting, option};
use super::{Flag, Group::Output};
use crate::arguments::{Arguments, Mode, SchemaSource};

const FORMATS: &[&str] = &["text", "json", "stream-json"];

pub(super) const OPTIONS: &[Setting] = &[
    option(
        Flag::new("output-format", Output, "Print the result as text, json (one object) or stream-json (events)")
            .takes_word("FORMAT")
            .choices(FORMATS)
            .details("The object has the answer, the result, the usage, the cost, the session and the error, also after a failure. stream-json is --mode json. Implies --print."),
        Set::Checked(|a, format| {
            a.print = true;
            a.output.object = false;
            match format.as_str() {
                "text" => {}
                "json" => a.output.object = true,
                "stream-json" => a.mode = Some(Mode::Json),
                _ => {
                    let valid = FORMATS.join(", ");
                    return Err(format!("Invalid output format \"{format}\". Valid values: {valid}"));
                }
            }
            Ok(())
        }),
    ),
    option(
        Flag::new("output-schema", Output, "Require a result that matches the JSON Schema in FILE")
            .takes("FILE")
            .files()
            .details("The result is printed instead of the answer. An invalid result is returned to the model up to three times, then the exit code is 12. Implies --print."),
        Set::Checked(|a, file| set_schema(a, SchemaSource::File(file))),
    ),
    option(
        Flag::new("json-schema", Output, "Require a result that matches this JSON Schema")
            .takes("JSON")
            .details("As --output-schema, with the schema itself."),
        Set::Checked(|a, text| set_schema(a, SchemaSource::Text(text))),
    ),
    option(
        Flag::new("output", Output, "Write the answer, the result or the object to FILE as well")
            .short("o")
            .takes("FILE")
            .files()
            .details("The file is replaced at once and only on success. Implies --print."),
        Set::Value(|a, file| {
            a.print = true;
            a.output.file = Some(file);
        }),
    ),
];

fn set_schema(arguments: &mut Arguments, schema: SchemaSource) -> Result<(), String> {
    arguments.print = true;
    match arguments.output.schema.replace(schema) {
        None => Ok(()),
        Some(_) => {
            Err("--output-schema and --json-schema: only one schema can be given".to_owned())
        }
    }
}
