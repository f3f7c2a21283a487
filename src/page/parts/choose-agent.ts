import { find } from './element.ts';

/** Chooses the agent of the next new chat, also before the page has read the agents. */
export function chooseAgent(name: string): void {
	const field = find('#agent', HTMLSelectElement);
	if (![...field.options].some(({ value }) => value === name)) field.add(new Option(name, name));
	field.value = name;
}
