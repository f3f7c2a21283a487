/**
 * The client under the conformance test: an agent whose scripted model calls each tool of a server once. The
 * suite passes the address as the last argument, and its settings in the environment.
 */
import * as v from 'valibot';
import { toMessageText } from '../../src/core/base/errors.ts';
import { isRecord } from '../../src/core/base/json.ts';
import { chat, providers, type RunResult, type Tool, type ToolCall } from '../../src/core/index.ts';
import { fromServer, type ServerTools } from '../../src/core/mcp/index.ts';
import { BrowserLogin } from './login.ts';

const name = 'conformance';

/** The scenario's input for its client. */
const wanted = v.object({
	client_id: v.optional(v.string()),
	client_secret: v.optional(v.string()),
	toolCalls: v.optional(v.array(v.object({ name: v.string(), arguments: v.record(v.string(), v.unknown()) })), []),
});
type Wanted = v.InferOutput<typeof wanted>;

/** The most logins of a client: it logs in at first, and again if a tool wants more rights. */
const mostLogins = 3;

const url = process.argv.at(-1) ?? '';
const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
await main(v.parse(wanted, JSON.parse(context)));

async function main(about: Wanted): Promise<void> {
	const { client_id, client_secret } = about;
	const known =
		client_id === undefined ? undefined : { client_id, ...(client_secret !== undefined && { client_secret }) };
	const login = scenario.startsWith('auth/') ? new BrowserLogin(url, known) : undefined;
	const connection = await connect(login);
	try {
		const calls = listCalls(connection.tools, about);
		// The calls of one turn run in parallel. Calls that need a login run in sequence.
		const turns = login === undefined ? [calls] : calls.map((call) => [call]);
		for (const toolCalls of turns) await run(connection, toolCalls, login);
	} finally {
		await connection.close();
	}
}

/** Connects. Logs in first if the server asks for it. */
async function connect(login: BrowserLogin | undefined): Promise<ServerTools> {
	for (let left = mostLogins; ; left--) {
		try {
			return await fromServer({ name, url, auth: login });
		} catch (thrown) {
			if (login === undefined || left === 0) throw thrown;
			await login.logIn();
		}
	}
}

/** Runs a turn of calls, and answers the questions of tools and servers. */
async function run(
	{ loadTools }: ServerTools,
	toolCalls: readonly ToolCall[],
	login: BrowserLogin | undefined,
): Promise<void> {
	const options = { model: 'scripted', loadTools };
	const model = providers.scripted([{ toolCalls: [...toolCalls] }, 'Done.', 'Done.']);
	let result: RunResult = await chat.run({ ...options, providers: [model] }, [chat.userMessage('Go.')]).result;
	const asked: chat.Question[] = [];
	for (let left = 20; result.status === 'awaiting_user' && left > 0; left--) {
		const { question, answerTo } = result.metadata;
		if (question === undefined || answerTo === undefined) break;
		asked.push(question);
		if (question.options?.kind === 'login') await login?.logIn();
		const answers = [{ ...answerTo, text: '{"action":"accept","content":{}}' }];
		const more = { ...options, providers: [model], asked, answers };
		result = await chat.run(more, result.messages).result;
	}
	for (const message of result.messages)
		if (message.role === 'tool')
			console.log(message.isError === true ? 'error:' : 'result:', toMessageText(chat.messageText(message)));
}

/** Makes the calls of a scenario. If the scenario lists no calls, makes a call of each tool. */
function listCalls(tools: readonly Tool[], { toolCalls }: Wanted): readonly ToolCall[] {
	const given = toolCalls.filter((call) => tools.some((tool) => tool.name === `${name}_${call.name}`));
	if (given.length > 0)
		return given.map((call, at) => ({ id: `c${at}`, name: `${name}_${call.name}`, input: call.arguments }));
	return tools.map((tool, at) => ({ id: `c${at}`, name: tool.name, input: makeArguments(tool) }));
}

/** Makes arguments that fit the types of a schema. */
function makeArguments({ inputSchema }: Tool): Record<string, unknown> {
	const properties = isRecord(inputSchema.properties) ? inputSchema.properties : {};
	const values: Readonly<Record<string, unknown>> = { number: 5, integer: 5, boolean: true, array: [], object: {} };
	const entries = Object.entries(properties).map(([key, field]) => {
		const type = isRecord(field) && typeof field.type === 'string' ? field.type : 'string';
		return [key, Object.hasOwn(values, type) ? values[type] : 'text'];
	});
	return Object.fromEntries(entries);
}
