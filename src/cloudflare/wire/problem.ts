/** Something that must be fixed before everything works. */
export interface Problem {
	/** The variable, binding or agent. */
	readonly where: string;
	/** What is wrong, and what to do about it. */
	readonly message: string;
	/** The variable that is not set, where that is all that is wrong. */
	readonly unset?: string;
}
