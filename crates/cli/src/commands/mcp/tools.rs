//! The tools: what each takes, and the command that it runs.

use kubewright_value::{Map, Value};

/// A tool.
pub(super) struct McpTool {
    /// The name, which is that of the command.
    pub(super) name: &'static str,
    /// The name for people.
    title: &'static str,
    /// What it does.
    description: &'static str,
    /// What it takes.
    pub(super) parameters: &'static [ToolParameter],
}

/// A parameter of a tool.
pub(super) struct ToolParameter {
    /// Its name.
    pub(super) name: &'static str,
    /// What it is.
    description: &'static str,
    /// Whether the tool needs it.
    pub(super) is_required: bool,
    /// What it becomes on the command line.
    pub(super) use_as: ParameterUse,
    /// The values it may have; empty for any.
    pub(super) values: &'static [&'static str],
    /// The value where none is given; empty for none.
    pub(super) fallback: &'static str,
}

/// What a parameter becomes on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterUse {
    /// A file with this text, named by this flag; a positional argument where it is empty.
    File(&'static str),
    /// The value of this flag; a positional argument where it is empty.
    Word(&'static str),
}

const RULES: ToolParameter = ToolParameter {
    name: "rules",
    description: "Rules as YAML: ClusterPolicy, ValidatingAdmissionPolicy, Trait, Pattern and so on",
    is_required: true,
    use_as: ParameterUse::File(""),
    values: &[],
    fallback: "",
};

const RESOURCES: ToolParameter = ToolParameter {
    name: "resources",
    description: "Kubernetes objects as YAML or JSON",
    is_required: true,
    use_as: ParameterUse::File("-r"),
    values: &[],
    fallback: "",
};

const EXCEPTIONS: ToolParameter = ToolParameter {
    name: "exceptions",
    description: "Exceptions from rules as YAML, such as a PolicyException",
    is_required: false,
    use_as: ParameterUse::File("--exceptions"),
    values: &[],
    fallback: "",
};

const WORLD: ToolParameter = ToolParameter {
    name: "world",
    description: "Objects that rules may look up, as YAML: Namespaces, ConfigMaps",
    is_required: false,
    use_as: ParameterUse::File("--world"),
    values: &[],
    fallback: "",
};

const OPERATION: ToolParameter = ToolParameter {
    name: "operation",
    description: "The operation of the request",
    is_required: false,
    use_as: ParameterUse::Word("--operation"),
    values: &["CREATE", "UPDATE", "DELETE", "CONNECT"],
    fallback: "",
};

const NAMESPACE: ToolParameter = ToolParameter {
    name: "namespace",
    description: "The namespace of objects that name none",
    is_required: false,
    use_as: ParameterUse::Word("--namespace"),
    values: &[],
    fallback: "",
};

const RULE: ToolParameter = ToolParameter {
    name: "rule",
    description: "Only this rule: its name, `policy/rule` or its full id",
    is_required: false,
    use_as: ParameterUse::Word("--rule"),
    values: &[],
    fallback: "",
};

/// All tools, in the order in which they are listed.
pub(super) const TOOLS: &[McpTool] = &[
    McpTool {
        name: "lint",
        title: "Check rules",
        description: "Checks rules without running them. Returns JSON with diagnostics: code, message, place and help.",
        parameters: &[RULES, EXCEPTIONS],
    },
    McpTool {
        name: "apply",
        title: "Judge objects",
        description: "Runs rules on objects. Returns JSON with the outcome of every rule for every object: status, message, path, line, patch.",
        parameters: &[RULES, RESOURCES, EXCEPTIONS, WORLD, OPERATION, NAMESPACE, RULE],
    },
    McpTool {
        name: "trace",
        title: "Explain outcomes",
        description: "Shows why each rule did what it did with each object, as a tree of the conditions that were evaluated, in JSON.",
        parameters: &[RULES, RESOURCES, EXCEPTIONS, WORLD, OPERATION, NAMESPACE, RULE],
    },
    McpTool {
        name: "explain",
        title: "Explain a diagnostic",
        description: "Returns the page of a diagnostic code such as KW-K012, or of a built-in pattern, as Markdown.",
        parameters: &[ToolParameter {
            name: "name",
            description: "The code or the name of the pattern",
            is_required: true,
            use_as: ParameterUse::Word(""),
            values: &[],
            fallback: "",
        }],
    },
    McpTool {
        name: "convert",
        title: "Convert policies",
        description: "Writes policies in CEL that are equivalent to ClusterPolicies, and says what cannot be converted.",
        parameters: &[
            ToolParameter { description: "ClusterPolicies and Policies as YAML", ..RULES },
            ToolParameter {
                name: "to",
                description: "The kind to write: auto chooses the one that fits each rule",
                is_required: false,
                use_as: ParameterUse::Word("--to"),
                values: &[
                    "auto",
                    "validatingpolicy",
                    "mutatingpolicy",
                    "generatingpolicy",
                    "imagevalidatingpolicy",
                    "vap",
                ],
                fallback: "",
            },
        ],
    },
    McpTool {
        name: "graph",
        title: "Draw objects",
        description: "Draws objects and the relationships between them: as text, Mermaid, DOT or JSON.",
        parameters: &[
            RESOURCES,
            ToolParameter {
                name: "format",
                description: "The form of the picture",
                is_required: false,
                use_as: ParameterUse::Word("-o"),
                values: &["tree", "mermaid", "dot", "json"],
                fallback: "tree",
            },
        ],
    },
];

/// Returns the tools as the protocol lists them. Where there is a root folder, files may be named in place of texts.
pub(super) fn tool_list(has_root: bool) -> Value {
    Value::array(TOOLS.iter().map(|tool| tool.value(has_root)).collect())
}

impl McpTool {
    fn value(&self, has_root: bool) -> Value {
        let annotations = Map::from([
            ("readOnlyHint", Value::from(true)),
            ("destructiveHint", false.into()),
            ("idempotentHint", true.into()),
            ("openWorldHint", false.into()),
        ]);
        Map::from([
            ("name", Value::from(self.name)),
            ("title", self.title.into()),
            ("description", self.description.into()),
            ("inputSchema", self.input_schema(has_root)),
            ("annotations", annotations.into()),
        ])
        .into()
    }

    fn input_schema(&self, has_root: bool) -> Value {
        let mut properties = Map::new();
        let mut required: Vec<Value> = Vec::new();
        for parameter in self.parameters {
            properties.insert(parameter.name.into(), parameter.schema());
            let is_file = matches!(parameter.use_as, ParameterUse::File(_));
            if is_file && has_root {
                properties.insert(parameter.files_name().into(), files_schema(parameter.name));
            } else if parameter.is_required {
                required.push(parameter.name.into());
            }
        }
        let mut schema = Map::from([
            ("type", Value::from("object")),
            ("properties", properties.into()),
            ("additionalProperties", false.into()),
        ]);
        if !required.is_empty() {
            schema.insert("required".into(), Value::array(required));
        }
        schema.into()
    }
}

impl ToolParameter {
    /// Returns the name of the parameter that names files in place of a text.
    pub(super) fn files_name(&self) -> String {
        format!("{}Files", self.name.strip_suffix('s').unwrap_or(self.name))
    }

    fn schema(&self) -> Value {
        let mut schema =
            Map::from([("type", Value::from("string")), ("description", self.description.into())]);
        if !self.values.is_empty() {
            let values = self.values.iter().map(|value| Value::from(*value)).collect();
            schema.insert("enum".into(), Value::array(values));
        }
        schema.into()
    }
}

fn files_schema(name: &str) -> Value {
    let item = Map::from([("type", Value::from("string"))]);
    Map::from([
        ("type", Value::from("array")),
        ("items", item.into()),
        ("description", format!("Files or folders below the root folder, in place of `{name}`").into()),
    ])
    .into()
}
