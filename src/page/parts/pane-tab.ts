/** A tab of the pane beside a conversation, as what fills the tab sees it. */
export interface PaneTab {
	readonly panel: HTMLElement;
	/** What the button below the conversation says beside the title. */
	readonly brief: HTMLElement;
	/** Whether there is something to show. */
	isShown: boolean;
	/** Whether a person sees the panel. */
	readonly isOpen: boolean;
	/** Called when the panel is opened and closed. */
	onToggle: (isOpen: boolean) => void;
	/** Opens the pane with this tab, or closes it if it shows this tab. */
	readonly toggle: () => void;
	/** Opens the tab where there is room for it, unless the person has closed the pane. */
	readonly suggest: () => void;
}
