import { assertKnownFields } from '../ground/check.ts';
import { RunletError } from '../ground/errors.ts';

/** A server of the Model Context Protocol, over streamable HTTP, whose tools an agent may call. */
export interface McpServer {
	/** The prefix of its tools: `NAME_TOOL`. 1 to 40 letters, digits, `_` and `-`. */
	readonly name: string;
	readonly url: string;
	/** Headers of each request to it, and of no request to anybody else. */
	readonly headers?: Readonly<Record<string, string>>;
	/** The only tools of the server that are offered, by the server's own names. The default is all. */
	readonly allow?: readonly string[];
	/** Whether a person decides about each call, or about those of the named tools. */
	readonly needsApproval?: boolean | readonly string[];
	/** The tools that may run again after a crash. What the server itself says about that does not count. */
	readonly safe?: readonly string[];
	/** Milliseconds for a call, counted again after each sign of progress. The default is 60,000. */
	readonly timeoutMs?: number;
}

const fields = ['name', 'url', 'headers', 'allow', 'needsApproval', 'safe', 'timeoutMs'];

/** Throws `invalid_request`, with the field, for a server that cannot be one. */
export function assertServer(server: McpServer): void {
	assertKnownFields(server, fields, { owner: 'an MCP server' });
	const { name, url, timeoutMs } = server;
	const refuse = (field: string, what: string) => new RunletError('invalid_request', `${field}: ${what}`, { field });
	if (typeof name !== 'string' || !/^[\w-]{1,40}$/.test(name))
		throw refuse('name', 'expected 1 to 40 letters, digits, "_" and "-", such as "github".');
	if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
		throw refuse('url', 'expected the address of the server, such as "https://mcp.example.com/mcp".');
	if (timeoutMs !== undefined && !(timeoutMs > 0)) throw refuse('timeoutMs', 'expected milliseconds, such as 60000.');
}
