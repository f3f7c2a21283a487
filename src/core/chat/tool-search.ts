import * as v from 'valibot';
import { define } from '../tool/define.ts';
import { filterAvailable } from '../tool/dispatch.ts';
import type { Tool, ToolCall } from '../tool/index.ts';

/** The default for the most tools that a model is sent without a search. Of more, it is sent at most as many as it found. */
export const mostSent = 40;

/** Tools that one search gives. */
const mostFound = 10;

/** The name of the tool that finds tools. */
export const searchName = 'search_tools';
const foundTools = v.object({ tools: v.array(v.object({ name: v.string() })) });

/** Makes the tool `search_tools`, which finds tools of a run by words. What it finds is sent from the next turn on. */
export function createToolSearch(tools: readonly Tool[]): Tool {
	return define({
		name: searchName,
		// Without their number, which would change the beginning of each request when it changes.
		description:
			'Find further tools by words of their names and descriptions. Those that are found can be called from the next turn on.',
		inputSchema: v.object({ query: v.pipe(v.string(), v.minLength(1), v.description('Words, such as send email')) }),
		passInput: true,
		retry: 'safe',
		onRequest: ({ query }) => ['Searching tools', query],
		fn: async ({ query }, context) => {
			const found = await filterAvailable(rankTools(tools, query), context);
			const shown = found.slice(0, mostFound).map(({ name, description = '' }) => ({ name, description }));
			if (shown.length > 0) return { tools: shown };
			return { tools: [], note: 'No tool has one of these words. Search by other ones.' };
		},
	});
}

/** The tools that have a word of the query, the best first. A word counts more in a name than in a description. */
function rankTools(tools: readonly Tool[], query: string): readonly Tool[] {
	const words = query
		.toLowerCase()
		.split(/[^\p{L}\p{N}]+/u)
		.filter((word) => word !== '');
	const score = ({ name, description = '' }: Tool): number => {
		const [inName, inDescription] = [name.toLowerCase(), description.toLowerCase()];
		return words.reduce(
			(sum, word) => sum + (inName.includes(word) ? 3 : 0) + (inDescription.includes(word) ? 1 : 0),
			0,
		);
	};
	const ranked = tools.map((tool) => ({ tool, score: score(tool) })).filter((one) => one.score > 0);
	return ranked.toSorted((one, other) => other.score - one.score).map(({ tool }) => tool);
}

/** Lists the tools that a call made known: those that a search found, or the called one. */
export function listKnownTools({ name }: ToolCall, result: unknown): readonly string[] {
	if (name !== searchName) return [name];
	return v.is(foundTools, result) ? result.tools.map((tool) => tool.name) : [];
}
