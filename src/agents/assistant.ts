import { toolbox } from 'runlet';
import { defineAgent } from 'runlet/cloudflare';

/** Answers questions with the time, arithmetic, and every published skill. */
export const assistant = defineAgent({
	name: 'assistant',
	description: 'Answers questions; can calculate, tell the time, and read every published skill.',
	examples: ['What is 17 + 25?', 'What time is it in Tokyo?', 'An angry customer wants a refund. How should I reply?'],
	system: 'You are a helpful assistant. Use the tools for the time and for arithmetic instead of guessing. Be brief.',
	tools: Object.values(toolbox.basic()),
	skills: 'all',
	searchContents: true,
});
