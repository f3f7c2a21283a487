import { failures } from '../wire/error.ts';
import { type Operation, type RequestHeader, requestHeaders } from '../wire/operation.ts';
import { version } from '../wire/version.ts';
import { type JsonSchema, toNamedSchemas } from './json-schema.ts';
import { operations } from './operations.ts';
import { anyError, nameFailure, parameterName, type Spec, toExamples, toRef, toSpec } from './spec.ts';

/** The OpenAPI 3.1 document of the API: https://spec.openapis.org/oas/v3.1.1 */
export interface Document {
	readonly openapi: string;
	readonly info: { readonly title: string; readonly version: string; readonly description: string };
	readonly servers: readonly { readonly url: string }[];
	readonly tags: readonly { readonly name: string; readonly description: string }[];
	readonly security: readonly JsonSchema[];
	readonly paths: Readonly<Record<string, Readonly<Record<string, Spec>>>>;
	readonly components: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>;
}

const description = `Agents that stream, sessions that last, skills from KV.

A request has an API key as \`Authorization: Bearer\` (or alone, as \`x-api-key\` or \`api-key\`), or a session token, which opens only its session. Under \`npm start\` this machine needs neither.

A run continues without its reader: a client that is cut off connects again with \`Last-Event-ID\`. A \`POST\` that is repeated with the same \`Idempotency-Key\` takes effect once. An error is \`{ "error": { "code", "message", "data"? } }\`, and its message says what to do. Routes of another protocol have the error form of that protocol.`;

const tags = [
	{ name: 'Agents', description: 'The agents of this Worker.' },
	{ name: 'Sessions', description: 'Durable conversations.' },
	{
		name: 'Schedules',
		description: 'Times at which sessions and agents wake up. They need the plugin `schedules`.',
	},
	{ name: 'Messages', description: 'Messages of a session, and answers to its questions.' },
	{ name: 'Runs', description: 'The work on a message: follow it, stop it, continue it.' },
	{ name: 'Files', description: 'The workspace of a session, which its tools share with people.' },
	{ name: 'Users', description: 'The people of an owner: their data and their budgets.' },
	{ name: 'Keys', description: 'The API keys of this Worker.' },
	{ name: 'AI SDK pages', description: 'Routes for `useChat` of the AI SDK, versions 5, 6 and 7.' },
	{ name: 'A2A', description: 'Agents for other agents. They need the plugin `a2a`.' },
	{ name: 'AG-UI', description: 'Runs for clients of AG-UI. They need the plugin `agui`.' },
	{ name: 'Webhooks', description: 'Events of other services, which start runs.' },
	{ name: 'Skills', description: 'Texts that agents read when they need them.' },
	{ name: 'Tools', description: 'HTTP tools that an owner defines for its sessions.' },
	{
		name: 'Memories',
		description: 'Memories of agents about an owner and its users. They need the plugin `memory`.',
	},
	{
		name: 'MCP servers',
		description: 'Servers of the Model Context Protocol, whose tools agents offer. It needs the plugin `mcp`.',
	},
	{ name: 'Anthropic', description: 'For clients of Anthropic: an agent is a model. It needs the plugin `messages`.' },
	{ name: 'OpenAI', description: 'For clients of OpenAI: an agent is a model.' },
	{ name: 'Service', description: 'The Worker itself.' },
];

/** The document of a Worker at `/`, with the routes of all optional parts. */
export function createDocument(): Document {
	return {
		openapi: '3.1.1',
		info: { title: 'Runlet', version, description },
		servers: [{ url: '/' }],
		tags,
		security: [{ apiKey: [] }],
		paths: describePaths(),
		components: {
			schemas: toNamedSchemas(),
			parameters: Object.fromEntries(headerNames.map((name) => [parameterName(name), headerParameter(name)])),
			responses: {
				...Object.fromEntries(
					Object.entries(failures).map(([status, { says, example }]) => [
						nameFailure(status),
						errorResponse(says, { [example.code]: { error: example } }),
					]),
				),
				[nameFailure('default')]: errorResponse(anyError),
			},
			securitySchemes: {
				apiKey: {
					type: 'http',
					scheme: 'bearer',
					bearerFormat: 'rl_…',
					description: 'An API key: it opens the sessions of its owner. Writing skills needs its scope `admin`.',
				},
				sessionToken: {
					type: 'http',
					scheme: 'bearer',
					bearerFormat: 'rls_…',
					description: 'The token of one session, for a page that must not hold a key.',
				},
			},
		},
	};
}

function describePaths(): Document['paths'] {
	const paths: Record<string, Record<string, Spec>> = {};
	const ordered = Object.entries<Operation>(operations).toSorted(([, one], [, other]) => compareOperations(one, other));
	for (const [id, operation] of ordered) {
		const place = operation.path.replace(/:(\w+)/g, '{$1}');
		paths[place] = { ...paths[place], [operation.method]: toSpec(id, operation) };
	}
	return paths;
}

const methods: readonly Operation['method'][] = ['get', 'post', 'put', 'patch', 'delete'];

function compareOperations(one: Operation, other: Operation): number {
	if (one.path !== other.path) return one.path < other.path ? -1 : 1;
	return methods.indexOf(one.method) - methods.indexOf(other.method);
}

const headerNames = Object.keys(requestHeaders).filter((name): name is RequestHeader => name in requestHeaders);

function headerParameter(name: RequestHeader): JsonSchema {
	const { says, example } = requestHeaders[name];
	return { name: headerTitle(name), in: 'header', description: says, schema: { type: 'string' }, example };
}

function headerTitle(name: RequestHeader): string {
	return name.replace(/\b(id\b|\w)/g, (letters) => letters.toUpperCase());
}

function errorResponse(says: string, examples?: Readonly<Record<string, unknown>>): JsonSchema {
	const schema = toRef('schemas', 'Error');
	return {
		description: says,
		content: { 'application/json': { schema, ...(examples && { examples: toExamples(examples) }) } },
	};
}
