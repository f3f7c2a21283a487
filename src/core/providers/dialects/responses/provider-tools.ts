import { isRecord } from '../../../base/json.ts';
import type { CallEstimate } from '../../../chat/provider.ts';
import {
	listProviderTools,
	type ProviderCall,
	type ProviderChoices,
	type ProviderTool,
	type Source,
	usualUses,
} from '../../../chat/provider-tool.ts';
import type { Units } from '../../../chat/reply.ts';
import type { Foreseen } from '../../adapter/adapter.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { assertNoDomains, assertOwnType, countMostInput, createNoTool, listToolTypes } from '../../adapter/tools.ts';
import { keepCounts } from '../../adapter/units.ts';

type Variant = 'openai' | 'xai';

/** Converts an agent's choices to fields of the Responses API. Throws `invalid_request` for an unknown tool. */
export function toResponsesChoices(choices: ProviderChoices, variant: Variant): Json {
	const chosen = listProviderTools(choices);
	const tools = chosen.map((tool) => toTool(tool, variant));
	const { serviceTier, speed, providerContext, endUser, background } = choices;
	const compactAt = variant === 'openai' ? providerContext?.compactAt : undefined;
	const tier = speed === 'fast' ? 'priority' : serviceTier === 'standard' ? 'default' : serviceTier;
	const include = variant === 'openai' ? tools.flatMap(({ type }) => included[`${type}`] ?? []) : [];
	return {
		...(tools.length > 0 && { tools, ...(variant === 'openai' && { max_tool_calls: countUses(chosen) }) }),
		...(include.length > 0 && { include: [...new Set(include)] }),
		// xAI has only the priority tier.
		...(tier !== undefined && (variant === 'openai' || tier === 'priority') && { service_tier: tier }),
		...(compactAt !== undefined && {
			context_management: [{ type: 'compaction', compact_threshold: compactAt }],
		}),
		...(background === true && variant === 'openai' && { background }),
		...(endUser !== undefined && (variant === 'openai' ? { safety_identifier: endUser } : { user: endUser })),
	};
}

function countUses(tools: readonly ProviderTool[]): number {
	return tools.reduce((sum, { maxUses = usualUses }) => sum + maxUses, 0);
}

/** The API sends these results of a tool only on request. */
const included: Readonly<Record<string, string>> = {
	web_search: 'web_search_call.action.sources',
	file_search: 'file_search_call.results',
	code_interpreter: 'code_interpreter_call.outputs',
};

function toTool(tool: ProviderTool, variant: Variant): Json {
	const { type, maxUses: _, allowedDomains, blockedDomains, ...fields } = tool;
	const name = variant === 'openai' ? 'OpenAI' : 'xAI';
	if (!type.startsWith('web_search')) assertNoDomains(name, tool);
	switch (type) {
		case 'web_search': {
			const filters = {
				...(allowedDomains && { allowed_domains: allowedDomains }),
				...(blockedDomains && { [variant === 'openai' ? 'blocked_domains' : 'excluded_domains']: blockedDomains }),
			};
			return { type, ...(Object.keys(filters).length > 0 && { filters }), ...fields };
		}
		case 'web_fetch':
			throw createNoTool(name, type, 'Use web_search, which opens pages too');
		case 'code_execution':
			return { type: 'code_interpreter', ...(variant === 'openai' && { container: { type: 'auto' } }), ...fields };
		case 'mcp': {
			const { name: server_label, url: server_url, ...rest } = fields;
			return { type, server_label, server_url, ...(variant === 'openai' && { require_approval: 'never' }), ...rest };
		}
		case 'file_search':
			return { type, ...fields };
		default:
			if (type !== 'image_generation' || variant === 'xai') assertOwnType(name, type);
			return { type, ...fields };
	}
}

/** Returns the highest possible bill besides the tokens. A compaction counts as one more reading and one more text. */
export function foreseeResponses(body: Json, variant: Variant, { inputTokens, ...choices }: CallEstimate): Foreseen {
	const tools = listToolTypes(body).filter(({ type }) => !clientTools.test(type));
	// xAI cannot limit the number of calls, so the usual number is reserved.
	const chosen = listProviderTools(choices);
	const expected = countUses(chosen) + usualUses * Math.max(0, tools.length - chosen.length);
	const uses = getNumber(body, 'max_tool_calls') ?? expected;
	const units: Record<string, number> = {};
	for (const { type, tool } of tools) {
		const [unit, most] = toUnit(type, tool, variant);
		if (unit !== undefined) units[unit] = (units[unit] ?? 0) + (most ?? uses);
	}
	const tier = getString(body, 'service_tier');
	const most = tools.length === 0 ? 0 : uses;
	const [edit] = getObjects(body, 'context_management');
	const compactions = edit && countMostInput(inputTokens, most) >= (getNumber(edit, 'compact_threshold') ?? 0) ? 1 : 0;
	return {
		units,
		uses: most + compactions,
		texts: compactions,
		...(tier !== undefined &&
			!['default', 'auto', 'standard'].includes(tier) && { serviceTier: tier === 'fast' ? 'priority' : tier }),
	};
}

/** Tools that the client runs. */
const clientTools = /^(function|custom|computer|local_shell|apply_patch|tool_search|namespace)/;

/** Returns the unit that a tool bills, and the unit's highest count if it differs from the number of uses. */
function toUnit(type: string, tool: Json, variant: Variant): readonly [unit?: string, most?: number] {
	if (type.startsWith('web_search_preview')) return ['preview_searches'];
	if (type.startsWith('web_search')) return ['web_searches'];
	switch (type) {
		case 'mcp':
			return [];
		case 'file_search':
			return ['file_searches'];
		case 'x_search':
			return ['x_searches'];
		case 'code_interpreter':
		case 'shell': {
			if (variant === 'xai') return ['code_executions'];
			const container = getObject(tool, type === 'shell' ? 'environment' : 'container');
			// Without a container the client runs the commands.
			if (type === 'shell' && !getString(container, 'type')?.startsWith('container')) return [];
			const memory = getString(container, 'memory_limit') ?? '1g';
			return [memory === '1g' ? 'containers' : `containers_${memory}`, 1];
		}
		default:
			return [type];
	}
}

/** Reads from an item the call that the provider itself ran. */
export function readServerCall(item: Json): ProviderCall | undefined {
	const { type, status } = item;
	const id = getString(item, 'id');
	if (id === undefined || typeof type !== 'string') return undefined;
	const isError = status === 'failed' || (item.error !== undefined && item.error !== null);
	const call = (name: string, input: unknown, output: unknown): ProviderCall => ({
		id,
		name,
		input,
		output: output ?? item.error ?? undefined,
		isError,
	});
	switch (type) {
		case 'web_search_call': {
			const { sources, ...action } = getObject(item, 'action');
			return call('web_search', action, sources ?? { status });
		}
		case 'file_search_call':
			return call('file_search', { queries: item.queries }, item.results ?? { status });
		case 'code_interpreter_call':
			return call('code_execution', { code: item.code }, item.outputs ?? { status });
		case 'image_generation_call':
			return call('image_generation', { prompt: item.revised_prompt }, { status, file: item.file });
		case 'mcp_call': {
			const name = `${getString(item, 'server_label') ?? 'mcp'}/${getString(item, 'name')}`;
			return call(name, item.arguments, item.output);
		}
		case 'x_search_call':
		case 'shell_call':
			return call(type.slice(0, -'_call'.length), item.action ?? item.arguments, item.output ?? { status });
		default:
			return undefined;
	}
}

/** Lists the sources of an item of text. */
export function listSources(item: Json): readonly Omit<Source, 'id'>[] {
	return getObjects(item, 'content').flatMap((content) =>
		getObjects(content, 'annotations').flatMap((annotation) => readAnnotation(annotation) ?? []),
	);
}

function readAnnotation(annotation: Json): Omit<Source, 'id'> | undefined {
	switch (annotation.type) {
		case 'url_citation':
			return { url: getString(annotation, 'url'), title: getString(annotation, 'title') || undefined };
		case 'file_citation':
		case 'container_file_citation':
		case 'file_path':
			return { title: getString(annotation, 'filename') ?? getString(annotation, 'file_id') };
		default:
			return undefined;
	}
}

/**
 * Counts the billed calls of the provider's own tools. Unknown calls count under their own names, as unpriced units.
 */
export function countUnits(response: Json, output: readonly Json[]): Units {
	const counts: Record<string, number | undefined> = {};
	const add = (unit: string): void => {
		counts[unit] = (counts[unit] ?? 0) + 1;
	};
	const tools = getObjects(response, 'tools');
	const isPreview = tools.some(({ type }) => typeof type === 'string' && type.startsWith('web_search_preview'));
	const containers = new Set<string>();
	for (const item of output) {
		const { type } = item;
		if (typeof type !== 'string' || !type.endsWith('_call') || freeCalls.has(type)) continue;
		if (type === 'web_search_call') {
			if (isSearch(item)) add(isPreview ? 'preview_searches' : 'web_searches');
		} else if (type === 'file_search_call') add('file_searches');
		else if (type === 'x_search_call') add('x_searches');
		else if (type === 'image_generation_call') add(hasImageTokens(response) ? 'generated_images' : 'unmetered_images');
		else if (type === 'shell_call') {
			// A call without a container is run by the client.
			const container = getString(getObject(item, 'environment'), 'container_id');
			if (container !== undefined) containers.add(container);
		} else if (type !== 'code_interpreter_call') add(`${type}s`);
		else if (typeof item.container_id === 'string') containers.add(item.container_id);
		// xAI runs code without a container.
		else add('code_executions');
	}
	counts[toContainerUnit(tools)] = containers.size;
	// The API's own count leaves out unbilled searches.
	const billed = getNumber(getObject(getObject(response, 'tool_usage'), 'web_search'), 'num_requests');
	if (billed !== undefined) counts[isPreview ? 'preview_searches' : 'web_searches'] = billed;
	return keepCounts({ ...counts, ...countServerTools(getObject(response, 'usage')) });
}

/** Calls that cost only their tokens, including the client's calls. */
const freeCalls: ReadonlySet<string> = new Set([
	...['function_call', 'custom_tool_call', 'computer_call', 'mcp_call', 'local_shell_call', 'apply_patch_call'],
	'tool_search_call',
]);

/** Whether a response reports the tokens of its images. Older responses, and some newer ones, do not report them. */
function hasImageTokens(response: Json): boolean {
	return Boolean(getNumber(getObject(getObject(response, 'tool_usage'), 'image_gen'), 'output_tokens'));
}

/** Whether a call is a billed search. Opening a page, searching in a page, and a failed search are free. */
function isSearch(item: Json): boolean {
	const action = getString(getObject(item, 'action'), 'type') ?? 'search';
	return action === 'search' && item.status !== 'failed';
}

/** Returns the unit of the containers. All containers of a response have the size that the tool sets. */
function toContainerUnit(tools: readonly Json[]): string {
	const sizes = tools.flatMap((tool) => [getObject(tool, 'container'), getObject(tool, 'environment')]);
	const memory = sizes.map((size) => getString(size, 'memory_limit')).find(Boolean) ?? '1g';
	return memory === '1g' ? 'containers' : `containers_${memory}`;
}

/** Counts the uses of xAI's tools by the usage record, if the record lists them. The record leaves out failed calls. */
function countServerTools(usage: Json): Readonly<Record<string, number>> {
	if (!isRecord(usage.server_side_tool_usage_details)) return {};
	const details = usage.server_side_tool_usage_details;
	const read = (key: string): number => getNumber(details, key) ?? 0;
	return {
		web_searches: read('web_search_calls'),
		x_searches: read('x_search_calls'),
		code_executions: read('code_interpreter_calls'),
		file_searches: read('file_search_calls'),
		document_searches: read('document_search_calls'),
	};
}

/** Returns the usage record of a response. The tokens of the image model are the second entry of `iterations`. */
export function readUsageRecord(response: Json): Json {
	const usage = getObject(response, 'usage');
	if (!hasImageTokens(response)) return usage;
	const images = getObject(getObject(response, 'tool_usage'), 'image_gen');
	const tool = getObjects(response, 'tools').find(({ type }) => type === 'image_generation') ?? {};
	const model = getString(tool, 'model') ?? 'gpt-image-1';
	const output_tokens_details = {
		image_tokens: getNumber(images, 'output_tokens'),
		...getObject(images, 'output_tokens_details'),
	};
	return {
		...usage,
		iterations: [
			{ ...usage, model: response.model },
			{ ...images, output_tokens_details, model },
		],
	};
}
