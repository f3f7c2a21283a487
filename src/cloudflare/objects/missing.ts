import { RunletError } from '../../core/base/errors.ts';

/** The plugins of `createRunlet`, and their names in messages. */
const plugins = {
	mcp: 'MCP',
	memory: 'memory',
	schedules: 'schedules',
	links: 'decision links',
	messages: 'Anthropic’s Messages',
	agui: 'AG-UI',
	responses: 'Responses API',
	files: 'files by id',
	embeddings: 'embeddings',
	a2a: 'A2A',
} as const;

export type PluginName = keyof typeof plugins;

interface Missing {
	readonly code?: string;
	/** The subject of the message, before `has no …`. */
	readonly subject?: string;
	/** The field of an agent that needs the plugin. */
	readonly field?: string;
}

/** Creates the error of a Worker without a plugin. Its message describes how to add the plugin. */
export function createMissing(
	name: PluginName,
	{ code = 'not_found', subject = 'this Worker', field = name }: Missing = {},
): RunletError {
	const remedy = `Add to src/worker.ts: import { ${name} } from 'runlet/cloudflare/${name}'; and createRunlet({ agents, plugins: [${name}] }).`;
	const more = name === 'memory' ? ' Export the class Memory of it, too (docs/memory.md).' : '';
	return new RunletError(code, `${field}: ${subject} has no ${plugins[name]}. ${remedy}${more}`, { field });
}
