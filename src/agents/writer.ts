import { tool } from 'runlet';
import { defineAgent } from 'runlet/cloudflare';
import * as v from 'valibot';

/** Published texts are public, so a person approves them first. A real tool would put the text on your site. */
const publish = tool.define({
	name: 'publish',
	description: 'Publish a finished text. Needs its title and the text. A person has to allow it.',
	inputSchema: v.object({ title: v.pipe(v.string(), v.nonEmpty()), text: v.pipe(v.string(), v.nonEmpty()) }),
	needsApproval: true,
	fn: (title: string, text: string) => `${title} is published, with ${text.length} characters`,
});

/** Writes one text for the editor. */
export const writer = defineAgent({
	name: 'writer',
	description: 'Writes one text, and publishes it where it is told to and a person allows that.',
	examples: ['Please publish this: title Tea, text "Two minutes are enough."'],
	system:
		'You write one text, as you are told. Answer with the text and nothing else. Publish it only if you are told to; if that is denied, say so.',
	tools: [publish],
	searchContents: true,
});
