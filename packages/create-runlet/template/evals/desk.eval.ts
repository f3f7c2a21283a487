import { calledTool, costBelow, defineEval, stepsBelow } from 'runlet/evals';
import { desk } from '../src/agents/desk.ts';

/** Asks the model of the agent, in memory. Name more in `models` to compare them. */
export default defineEval({
	agent: desk,
	cases: [
		{ name: 'order', input: 'Where is my order A-1042?', expect: [calledTool('find_order', { id: 'A-1042' })] },
		{ name: 'tone', input: 'Which tone do we write in?', expect: [calledTool('read_skill', { name: 'tone' })] },
	],
	expect: [stepsBelow(5), costBelow(0.05)],
});
