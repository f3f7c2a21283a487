import { toolbox } from 'runlet';
import { defineAgent } from 'runlet/cloudflare';

/** The tools that change a single file. This agent does not get them: it edits files only through `apply_plan`. */
const direct = ['write_file', 'edit_file', 'delete_file', 'move_file', 'apply_patch'];
const box = toolbox.withCoding(toolbox.withFiles(toolbox.withTask(toolbox.basic())));

/** Makes and changes files. It plans all edits together, and a person approves the diff. */
export const coder = defineAgent({
	name: 'coder',
	description: 'Makes and changes files: plans, shows the diff, and goes on when you allow it.',
	examples: ['Make a greeting page.'],
	system:
		'You write and change the files of a workspace. Keep a list of tasks for work of several steps, and resolve each when it is done. Look at the files before you change them. Plan all edits together with plan_changes, then call apply_plan: a person sees the diff and has to allow it. If it is denied, ask what should be different.',
	tools: Object.values(box)
		.filter(({ name }) => !direct.includes(name))
		.map((tool) => (tool.name === 'apply_plan' ? { ...tool, needsApproval: true } : tool)),
	skills: ['greeting-page'],
	searchContents: true,
});
