import { isRecord } from '../../../base/json.ts';
import type { Units } from '../../../chat/usage.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { keepCounts } from '../../adapter/units.ts';

/**
 * Counts what a response bills besides tokens: the calls of the provider's own tools. Kinds of calls that are unknown are
 * counted under their own names, so that nobody takes them for free.
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
		if (typeof type !== 'string' || !type.endsWith('_call') || free.has(type)) continue;
		if (type === 'web_search_call') {
			if (isSearch(item)) add(isPreview ? 'preview_searches' : 'web_searches');
		} else if (type === 'file_search_call') add('file_searches');
		else if (type === 'x_search_call') add('x_searches');
		else if (type === 'image_generation_call') add(hasImageTokens(response) ? 'generated_images' : 'unmetered_images');
		else if (type === 'shell_call') {
			// A call without a container is one for the client.
			const container = getString(getObject(item, 'environment'), 'container_id');
			if (container !== undefined) containers.add(container);
		} else if (type !== 'code_interpreter_call') add(`${type}s`);
		else if (typeof item.container_id === 'string') containers.add(item.container_id);
		// xAI runs code in no container.
		else add('code_executions');
	}
	counts[toContainerUnit(tools)] = containers.size;
	// The API's own count leaves out what it does not bill.
	const billed = getNumber(getObject(getObject(response, 'tool_usage'), 'web_search'), 'num_requests');
	if (billed !== undefined) counts[isPreview ? 'preview_searches' : 'web_searches'] = billed;
	return keepCounts({ ...counts, ...countServerTools(getObject(response, 'usage')) });
}

/** Calls that cost nothing but their tokens. The client's own calls are among them. */
const free: ReadonlySet<string> = new Set([
	...['function_call', 'custom_tool_call', 'computer_call', 'mcp_call', 'local_shell_call', 'apply_patch_call'],
	'tool_search_call',
]);

/** Whether a response reports the tokens of its images. Older ones, and some newer ones, do not. */
function hasImageTokens(response: Json): boolean {
	return Boolean(getNumber(getObject(getObject(response, 'tool_usage'), 'image_gen'), 'output_tokens'));
}

/** Opening a page and searching in it are free, and so is a search that failed. */
function isSearch(item: Json): boolean {
	const action = getString(getObject(item, 'action'), 'type') ?? 'search';
	return action === 'search' && item.status !== 'failed';
}

/** All containers of a response have one size: that of the tool. */
function toContainerUnit(tools: readonly Json[]): string {
	const sizes = tools.flatMap((tool) => [getObject(tool, 'container'), getObject(tool, 'environment')]);
	const memory = sizes.map((one) => getString(one, 'memory_limit')).find(Boolean) ?? '1g';
	return memory === '1g' ? 'containers' : `containers_${memory}`;
}

/** Counts xAI's tools by its usage record, if that has them. It leaves out the calls that failed. */
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

/**
 * Returns the usage record of a response. Images are paid for as tokens of the model that makes them, so that stands
 * beside the model that answered.
 */
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
