-- Neovim 0.11 and later: copy this file to ~/.config/nvim/lsp/ and write `vim.lsp.enable('kubewright')` into init.lua.
return {
  cmd = { 'kubewright', 'lsp' },
  filetypes = { 'yaml' },
  root_markers = { 'kubewright.yaml', '.git' },
}
