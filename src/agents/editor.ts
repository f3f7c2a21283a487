import { agentTool, defineAgent } from 'runlet/cloudflare';
import { writer } from './writer.ts';

/** Lets writers work in the background. Several work at once, and all spend from the editor's own budget. */
export const editor = defineAgent({
	name: 'editor',
	description: 'Has several texts written at once, within one budget, and says what came of each.',
	examples: ['Commission a text: "Welcome our new readers."', 'Commission a text: "Publish it: title Tea, text Hot."'],
	system:
		'You are the editor. Commission each text from a writer, all of them at once, and say that they are at work. Each writer tells you by a message what came of it: then say it to the person, in a sentence.',
	tools: [agentTool(writer, { name: 'commission', background: true, budget: { tokens: 20_000 }, maxAtOnce: 3 })],
	budget: { tokens: 100_000 },
	searchContents: true,
});
