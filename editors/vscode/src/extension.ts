// Starts `kubewright lsp` and shows what its commands answer.

import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

/** What `kubewright.judge` answers. */
interface JudgedRule {
  rule: string;
  outcomes: { object: string; file: string; status: string; message: string }[];
}

/** What `kubewright.test` answers. */
interface TestedRule {
  rule: string;
  title: string;
}

/** What `kubewright.trace` answers. */
interface TracedRule {
  rule: string;
  object?: string;
  file?: string;
  text: string;
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("kubewright");
  context.subscriptions.push(
    output,
    vscode.commands.registerCommand("kubewright.restart", async () => {
      await client?.stop();
      await start(output);
    }),
  );
  await start(output);
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function start(output: vscode.OutputChannel): Promise<void> {
  const command = vscode.workspace.getConfiguration("kubewright").get<string>("path", "kubewright");
  const server: ServerOptions = { command, args: ["lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [{ scheme: "file", language: "yaml" }, { scheme: "untitled", language: "yaml" }],
    outputChannel: output,
    middleware: {
      executeCommand: async (name, parameters, next) => {
        const answer: unknown = await next(name, parameters);
        show(output, name, answer);
        return answer;
      },
    },
  };
  client = new LanguageClient("kubewright", "kubewright", server, options);
  try {
    await client.start();
  } catch (error) {
    const text = `kubewright: cannot start \`${command} lsp\`: ${String(error)}`;
    output.appendLine(text);
    void vscode.window.showErrorMessage(`${text}. Set kubewright.path to the program.`);
  }
}

/** Shows the answer of a command of a code lens. */
function show(output: vscode.OutputChannel, name: string, answer: unknown): void {
  if (name === "kubewright.test" && answer) {
    const tested = answer as TestedRule;
    void vscode.window.showInformationMessage(`${tested.rule}: ${tested.title}`);
  }
  if (name === "kubewright.judge" && answer) {
    const judged = answer as JudgedRule;
    output.appendLine(`${judged.rule}: ${judged.outcomes.length} outcomes`);
    for (const one of judged.outcomes) {
      output.appendLine(`  ${one.status}  ${one.object} (${one.file})  ${one.message}`);
    }
    output.show(true);
  }
  if (name === "kubewright.trace" && answer) {
    const traced = answer as TracedRule;
    output.appendLine(traced.file ? `${traced.rule} on ${traced.object} (${traced.file})` : traced.rule);
    output.appendLine(traced.text);
    output.show(true);
  }
}
